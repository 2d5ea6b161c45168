/** What somebody began and did not send: drafts, ticks. */
const WORK = 'gatehouse.work.'
const forgetters: (() => void)[] = []

/** Keeps what somebody works on as long as the tab: past a reload and the end of a session, not past signing out. */
export const workPlace = (name: string) => ({
  read: (): unknown => {
    try {
      return JSON.parse(sessionStorage.getItem(WORK + name) ?? 'null')
    } catch {
      return null
    }
  },
  write: (value: unknown): void => {
    try {
      sessionStorage.setItem(WORK + name, JSON.stringify(value))
    } catch {
      /* lasts as long as the page */
    }
  },
})

/** Hears when somebody signed out, or another person came: nothing of the one before may be left in memory. */
export const onGone = (forget: () => void): void => void forgetters.push(forget)

/** The storage, too, of parts that this page has not loaded. */
export function forgetWork(): void {
  for (const forget of forgetters) forget()
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(WORK)) sessionStorage.removeItem(key)
  } catch {
    /* then nothing was kept either */
  }
}
