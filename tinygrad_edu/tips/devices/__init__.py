"""Devices and transfers."""
