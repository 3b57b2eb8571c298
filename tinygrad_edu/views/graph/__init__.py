"""Graph stepper: one recorded run, forward and backward, step by step."""
