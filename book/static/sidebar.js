// Scroll the contents at the left to the page that is shown.
const box = document.querySelector(".sidebar-scroll"), current = document.querySelector(".sidebar-tree .current-page")
if (box && current) box.scrollTop += current.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3
