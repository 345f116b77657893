"""What axe-core finds on a page. It takes minutes for long ones, so what repeats there is looked at a few times."""

from axe_playwright_python.sync_playwright import Axe

FEW = """() => {
  const seen = {}
  document.querySelectorAll("pre span[class]").forEach(sign => {
    seen[sign.className] = (seen[sign.className] || 0) + 1
    if (seen[sign.className] > 2) sign.replaceWith(sign.textContent)
  })
  document.querySelectorAll("pre").forEach(code => code.normalize())
  document.querySelectorAll("tbody").forEach(body => [...body.rows].slice(5).forEach(row => row.remove()))
  document.querySelectorAll("math").forEach(formula => formula.replaceChildren())
}"""
CONTENTS = ".sidebar-tree, .toc-tree"  # the same on every page


def violations(tab, *, contents=False, colours=False):
    """Serious and critical ones of the page in a tab, where a few signs, rows and formulas of each kind are left.

    Colours, which take most of the time, come from one style sheet: pages of every kind are enough for them.
    """
    tab.evaluate(FEW)
    if not contents:
        tab.evaluate("which => document.querySelectorAll(which).forEach(part => part.remove())", CONTENTS)
    rules = {"color-contrast": {"enabled": colours}}
    found = Axe().run(tab, options={"resultTypes": ["violations"], "rules": rules}).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]} and {len(one['nodes']) - 1} more" for one in serious]
