import type { SeveritySource } from './findings.ts'

const SAID: Readonly<Record<SeveritySource, string>> = {
  distribution: "the distribution's own rating",
  advisory: "the advisory's own word",
  ubuntu: "Ubuntu's rating of the CVE",
  red_hat: "Red Hat's rating of the CVE",
  cvss: "the advisory's CVSS score",
  alias_cvss: 'the CVSS score in another advisory about it',
  nvd: 'the CVSS score of the NVD',
}

/** Whose word a severity is, in words. The only place that says so. */
export const sayRatedBy = (source: SeveritySource): string => SAID[source]
