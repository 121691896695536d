"""Answers for programs that read text by the token: nine questions, budgets, stable handles.

The command line (``stepscope ask``, ``explain``) and ``stepscope mcp`` give the same answers.
"""
