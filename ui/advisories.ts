/** The page about a vulnerability. Undefined for an unknown kind of id. */
export function homeOf(id: string): string | undefined {
  if (/^CVE-\d+-\d+$/i.test(id)) return `https://nvd.nist.gov/vuln/detail/${id.toUpperCase()}`
  if (/^(GHSA|DSA|DLA|USN|RHSA|ALSA|RLSA|PYSEC|GO|RUSTSEC|MAL|ALPINE|DEBIAN|UBUNTU|ELSA)-/i.test(id))
    return `https://osv.dev/vulnerability/${encodeURIComponent(id)}`
  return undefined
}
