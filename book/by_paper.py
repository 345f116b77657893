"""Split long pages of figures/ by paper: the errata, what is tested, and the columns of the files."""

import re

TITLES = {"errata": "Errata", "coverage": "What is tested", "README": "Columns of the files"}


def split(name, text, papers):
    """Return {page: markdown}: one page per paper, and under the old name a page on what concerns all papers."""
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    parts = {paper: section for paper in papers for section in sections if section.startswith(f"## {paper}\n")}
    first = [section.strip() for section in sections if section not in parts.values()]
    links = [f"- [{TITLES[name]}: {paper}]({name}_{paper}.md)" for paper in parts]
    pages = {name: "\n\n".join([*first, "\n".join(links)]) + "\n"}
    for paper, part in parts.items():
        below = re.sub(r"^##(#+ )", r"#\1", part.partition("\n")[2].strip(), flags=re.MULTILINE)
        pages[f"{name}_{paper}"] = f"# {TITLES[name]}: {paper}\n\n{nearer(below, paper)}\n"
    return pages


def nearer(text, paper):
    """Return a text whose links to the errata and the coverage lead to those of the same paper."""
    return re.sub(r"\]\(((?:\.\./)?)(errata|coverage)\.md\)", rf"](\1\2_{paper}.md)", text)
