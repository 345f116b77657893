"""Long pages of figures/ taken apart by paper: the errata and what is tested."""

import re

TITLES = {"errata": "Errata", "coverage": "What is tested"}


def split(name, text, papers):
    """{page: markdown}: a first page under the old name, with what concerns all papers, and one per paper."""
    parts, first = chapters(text, papers), text.partition("\n## ")[0]
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
