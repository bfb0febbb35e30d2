from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import pytest

from tests.lab.errors import EnvironmentUnavailable, LabError
from tests.lab.hosts import cgroups, requirements


@pytest.fixture
def on_linux_as_root(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_another_system_is_told_why_and_what_to_do(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    with pytest.raises(EnvironmentUnavailable) as caught:
        requirements.require()
    assert str(caught.value) == (
        "hosts: hosts are booted in Linux namespaces, and this is Darwin\n"
        "  fix: run these tests on Linux as root; the others run here"
    )


def test_another_user_than_root_is_told_why_and_what_to_do(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentUnavailable) as caught:
        requirements.require()
    assert str(caught.value) == (
        "hosts: mounting roots and making network namespaces needs root, and this is user 1000\n"
        "  fix: run these tests as root; the others run as any user"
    )


@pytest.mark.usefixtures("on_linux_as_root")
def test_what_is_missing_is_said_before_it_is_installed(monkeypatch, capsys):
    present = {"apt-get", "ip", "nc", "nft", "ssh", "zstd"}
    monkeypatch.setattr(shutil, "which", lambda command: command if command in present else None)
    installed = []

    def run(argv, **_):
        said = capsys.readouterr().err
        installed.append((argv, said))
        raise LabError(where="hosts", rule="`apt-get` ended with exit code 100", fix="no network")

    monkeypatch.setattr(requirements, "run", run)
    monkeypatch.setattr(requirements, "KEYRING", Path(__file__))
    with pytest.raises(LabError) as caught:
        requirements.require()
    ((argv, said),) = installed
    assert argv == ["apt-get", "update", "-q"]
    assert "installing Debian packages on this machine: mmdebstrap, systemd-container" in said
    assert "installing mmdebstrap, systemd-container failed" in str(caught.value)
    assert "no network" in str(caught.value)


@pytest.mark.usefixtures("on_linux_as_root")
def test_a_system_without_apt_is_told_what_is_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda command: None if command != "ip" else command)
    monkeypatch.setattr(requirements, "KEYRING", Path(__file__))
    with pytest.raises(EnvironmentUnavailable) as caught:
        requirements.require()
    assert (
        "there is no apt-get to install them with: mmdebstrap, netcat-openbsd, nftables, "
        "openssh-client, systemd-container, zstd"
    ) in str(caught.value)


@pytest.mark.usefixtures("on_linux_as_root")
def test_a_machine_without_cgroup2_is_told_how_to_mount_it(monkeypatch):
    monkeypatch.setattr(requirements, "_require_namespaces", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda command: command)
    monkeypatch.setattr(requirements, "KEYRING", Path(__file__))
    monkeypatch.setattr(requirements, "unified_root", lambda: None)
    with pytest.raises(EnvironmentUnavailable, match="mount -t cgroup2"):
        requirements.require()


def test_the_control_groups_of_this_machine_are_read_with_their_options(monkeypatch, tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(
        "30 25 0:26 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
        "31 25 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
    )
    monkeypatch.setattr(cgroups, "MOUNTS", table)
    cgroups.mounts.cache_clear()
    try:
        assert str(cgroups.unified_root()) == "/sys/fs/cgroup/unified"
        ((path, options),) = cgroups.mounts("cgroup")
        assert (str(path), options) == ("/sys/fs/cgroup/systemd", "rw,name=systemd")
    finally:
        cgroups.mounts.cache_clear()
