// Draw each chart of the page when it comes into view. Without a script, and in print, there is only the picture.
const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(({target}) => {
  seen.unobserve(target)
  const spec = JSON.parse(target.querySelector("script").textContent), {beside, column} = spec.usermeta
  const room = target.clientWidth - beside, legend = spec.config.legend
  legend.columns = Math.max(1, Math.floor(room / column))
  legend.labelLimit = Math.min(220, room - 30)
  vegaEmbed(target.firstElementChild, spec, {actions: false, renderer: "canvas"}).then(({view}) => { target.view = view })
}))
document.querySelectorAll(".chart").forEach(chart => { chart.hidden = false; seen.observe(chart) })
