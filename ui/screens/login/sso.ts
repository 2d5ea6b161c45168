const KEY = 'gatehouse.return'

/** Remembers where the console was, before the browser goes to the provider. */
export function leave(): void {
  try {
    sessionStorage.setItem(KEY, location.hash)
  } catch {
    /* one arrives at the dashboard then */
  }
}

/** Where the console was before, once. */
export function takeReturn(): string {
  try {
    const hash = sessionStorage.getItem(KEY) ?? ''
    sessionStorage.removeItem(KEY)
    return hash
  } catch {
    return ''
  }
}

const SAID: Readonly<Record<string, string>> = {
  expired: 'This sign-in took too long, or began in another browser. Begin again.',
  late: 'The browser did not come back within ten minutes. Begin again, or sign in with a password.',
  denied: 'The provider did not let you in, or you stopped there.',
  refused: 'The answer of the provider cannot be trusted, so it was not used. Tell an admin if it happens again.',
  unavailable:
    'The provider of single sign-on cannot be reached. People with a password of this server can sign in with it.',
  no_username:
    'The provider does not say what you are called here. An admin sets the claim under Settings, Single sign-on.',
  no_role: 'You are in none of the groups that have a role here. Ask whoever keeps the groups.',
}

/** The sentence for the word in `sso_error`. */
export function ssoSentence(word: string): string {
  return SAID[word] ?? 'Single sign-on did not succeed. Begin again, or ask an admin.'
}
