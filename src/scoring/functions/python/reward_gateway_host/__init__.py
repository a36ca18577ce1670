"""Serves reward functions written in Python to the gateway that started this process."""
