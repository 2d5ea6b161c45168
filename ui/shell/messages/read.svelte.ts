const KEY = 'gatehouse.messages-read'

function kept(who: string): ReadonlySet<string> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(`${KEY}.${who}`) ?? '[]')
    return new Set(Array.isArray(value) ? value.map(String) : [])
  } catch {
    return new Set()
  }
}

let read = $state.raw<{ readonly who: string; readonly ids: ReadonlySet<string> }>({ who: '', ids: new Set() })

/** Which messages this person has seen in this browser. */
export function readBy(who: string): ReadonlySet<string> {
  return read.who === who ? read.ids : kept(who)
}

/** Marks messages as read. Only those that still stand are remembered, so that the list does not grow. */
export function markRead(who: string, ids: readonly string[]): void {
  read = { who, ids: new Set(ids) }
  try {
    localStorage.setItem(`${KEY}.${who}`, JSON.stringify(ids))
  } catch {
    /* lasts as long as the page */
  }
}
