import type { ApiToken } from '../../wire.ts'

/** The limits of a token, in a sentence. */
export function scopeWords({ uploads_per_minute: perMinute, ...scopes }: ApiToken['scopes']): string {
  return `${reachWords(scopes)}${perMinute === null ? '' : `; ${perMinute} uploads a minute`}`
}

function reachWords({
  distributions,
  upload_only: uploadOnly,
}: Pick<ApiToken['scopes'], 'distributions' | 'upload_only'>): string {
  const where = distributions === null ? '' : ` in ${distributions.join(', ')}`
  if (uploadOnly) return `uploads only${where}`
  return distributions === null ? 'whatever its role may' : `what its role may,${where}`
}
