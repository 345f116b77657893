// Search: a page whose title has all words of the query but "of" and the like comes first, so that
// "Figure 3 of azizi2022" finds its page. Sphinx itself leaves out numbers.
const words = text => (text || "").toLowerCase().match(/[\p{L}\d.]+/gu) || []
const asked = words(new URLSearchParams(window.location.search).get("q"))
var Scorer = {
  score: ([, title, anchor, , score]) => {
    const named = words(title)
    return score + (!anchor && asked.every(word => stopwords.has(word) || named.some(name => name.startsWith(word))) ? 100 : 0)
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
}
