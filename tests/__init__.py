"""Tests of Perimeter, on real parts; CONTRIBUTING.md says what each folder proves."""
