const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Electron\//, 'Gatehouse console'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
  [/^python-requests|^Python-urllib/, 'Python'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Windows/, 'Windows'],
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

/** The name of a user agent in words: `Firefox on Linux`. The whole text is the tooltip. */
export function deviceOf(agent: string): string {
  const find = (list: typeof BROWSERS): string | undefined => list.find(([pattern]) => pattern.test(agent))?.[1]
  const browser = find(BROWSERS)
  const system = find(SYSTEMS)
  if (browser === undefined && system === undefined) return agent === '' ? 'Unknown device' : agent.slice(0, 60)
  return [browser ?? 'A browser', system].filter(word => word !== undefined).join(' on ')
}
