export type Theme = 'system' | 'light' | 'dark'
const KEY = 'gatehouse.theme'

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : 'system'
  } catch {
    return 'system'
  }
}

let theme = $state<Theme>(kept())

function apply(): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
apply()

export function currentTheme(): Theme {
  return theme
}

/** Kept for this browser. */
export function setTheme(next: Theme): void {
  theme = next
  apply()
  try {
    localStorage.setItem(KEY, next)
  } catch {
    /* storage may be forbidden; the choice then lasts as long as the page */
  }
}
