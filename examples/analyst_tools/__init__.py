"""The tools of the example: real look-ups over a small SQLite book of positions, rates, limits,
ratings, ratios and news.

`book` opens the book (an in-memory database read from ``book.sql``) and holds one function per
tool; `server` puts them behind HTTP: ``POST /tools/<name>`` with the arguments as a JSON object.
Start it with ``python -m examples.analyst_tools --port 18110``.
"""
