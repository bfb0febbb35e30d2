"""``make demo``: one model from an MLflow registry to an answered question, with every real part on
this machine.

`console` prints, `stack` starts and stops the parts, `pipeline` runs the commands a release
pipeline runs, `exchanges` asks the three questions, `breakdown` holds the gateway's named steps
against this client's own clock. ``KEEP=1`` leaves it all running.
"""
