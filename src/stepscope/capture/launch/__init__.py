"""``stepscope record``: programs that record themselves without a line changed.

The program is started by the same Python with two variables set. One puts ``launch/site`` on its
path, whose ``sitecustomize`` Python imports before the program; the other says what to record.
Both are inherited, so that child processes record themselves, too, into the same run.
"""
