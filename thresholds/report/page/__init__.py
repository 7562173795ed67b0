"""How does a report become one file that a browser shows without asking anybody for anything?

`render.py` makes the page of a `Content`: start there. `page.html.j2` is its text, `page.css` its looks, and `page.js`
what it does. `columns.py` says what the script is given of each label, `forms.py` takes sentences apart for it, and
`packing.py` puts it all into few bytes.
"""
