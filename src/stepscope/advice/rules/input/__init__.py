"""Rules about the input pipeline: what starves the step, stage by stage."""
