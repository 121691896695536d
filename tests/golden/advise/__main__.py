"""Write the stored answers again."""

from tests.golden.advise import main

main()
