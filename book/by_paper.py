"""Long pages of figures/ taken apart by paper: the ledger, the errata and what is tested."""

import re

FOUND = "Sentences of the paper"  # the ledger's first table, which has no heading of its own
TITLES = {"ledger": "Every claim", "errata": "Errata", "coverage": "What is tested"}


def split(name, text, papers):
    """{page: markdown}: a first page under the old name, with what concerns all papers, and one per paper."""
    parts = ledger(text, papers) if name == "ledger" else chapters(text, papers)
    first = text.partition("\n## ")[0] if name != "ledger" else totals(text)
    links = [f"## {paper}\n\n[{TITLES[name]}: {paper}]({name}_{paper}.md)" for paper in parts]
    pages = {name: "\n\n".join([first.strip(), *links]) + "\n"}
    for paper, part in parts.items():
        pages[f"{name}_{paper}"] = f"# {TITLES[name]}: {paper}\n\n{nearer(part, paper)}\n"
    return pages


def nearer(text, paper):
    """Links to the other long pages lead to those of the same paper."""
    return re.sub(rf"\]\(((?:\.\./)?)({'|'.join(TITLES)})\.md\)", rf"](\1\2_{paper}.md)", text)


def chapters(text, papers):
    """{paper: what stands under its heading}, with the headings below it a level higher."""
    found = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)[1:]
    parts = dict(zip(found[::2], found[1::2], strict=True))
    return {paper: re.sub(r"^##(#+ )", r"#\1", parts[paper].strip(), flags=re.MULTILINE) for paper in papers}


# --- the ledger: tables whose first column is the paper


def totals(text):
    """The title and the first table."""
    title, table = text.split("\n\n")[:2]
    return f"{title}\n\n{table}"


def ledger(text, papers):
    """{paper: its rows of each table}, under the heading of the table."""
    parts = {paper: [] for paper in papers}
    for heading, lines in tables(text):
        for paper, part in parts.items():
            rows = [line for line in lines[2:] if cells(line)[0] == paper]
            if rows:
                part += [f"## {heading}", "\n".join(without_first(line) for line in lines[:2] + rows)]
    return {paper: "\n\n".join(part) for paper, part in parts.items()}


def tables(text):
    """(heading, lines) of every table behind the totals."""
    heading = FOUND
    for block in text.split("\n\n")[2:]:
        if block.startswith("## "):
            heading = block.strip()[3:]
        elif block.startswith("|"):
            yield heading, block.strip().split("\n")


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def without_first(line):
    return f"| {' | '.join(cells(line)[1:])} |"
