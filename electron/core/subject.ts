/** Whom a token is for, as it says itself. Nothing is trusted to this: it only keeps the files of two people apart. */
export function subjectOf(token: string): string {
  try {
    const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub?: unknown }
    return typeof sub === 'string' ? sub : ''
  } catch {
    return ''
  }
}
