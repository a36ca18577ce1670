/** In the order in which the button goes through them. */
export const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const place = 'reward-gateway.theme'

/** The theme that was chosen; `auto`: as the system has it. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(place)
  return themes.find((theme) => theme === kept) ?? 'auto'
}

/** Puts a theme on the page, and keeps it. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  localStorage.setItem(place, theme)
  document.documentElement.dataset.theme = theme
}
