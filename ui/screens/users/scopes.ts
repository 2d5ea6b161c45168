import type { ApiToken } from '../../wire.ts'

/** The limits of a token, in a sentence. */
export function scopeWords({ distributions, upload_only: uploadOnly }: ApiToken['scopes']): string {
  const where = distributions === null ? '' : ` in ${distributions.join(', ')}`
  if (uploadOnly) return `uploads only${where}`
  return distributions === null ? 'whatever its role may' : `what its role may,${where}`
}
