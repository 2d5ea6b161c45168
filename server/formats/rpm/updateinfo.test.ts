import { expect, test } from 'vitest'
import { advisoryOf } from './updateinfo.ts'

test("an advisory lists its builds, its CVEs with their pages, and the distributor's page", () => {
  const advisory = advisoryOf({
    id: 'ALSA-2026:5',
    kind: 'security',
    severity: 'unknown',
    title: 'xz',
    at: '2026-01-02T03:04:05Z',
    from: 'osv/AlmaLinux',
    cves: ['CVE-2026-1', 'CVE-2026-2'],
    references: ['https://errata.example/9/ALSA-2026-5.html', 'https://e.example/CVE-2026-2', 'https://bugs.example/7'],
    packages: [
      { name: 'xz-libs', version: '1:5.2-8.el9', arch: 'x86_64', source: 'xz', source_version: '5.2-8.el9' },
      { name: 'xz-doc', version: '5.2-8.el9', arch: 'noarch', source: 'xz', source_version: '5.2-8.el9' },
    ],
  })
  expect(advisory).toEqual({
    id: 'ALSA-2026:5',
    kind: 'security',
    title: 'xz',
    description: 'xz',
    issued: '2026-01-02T03:04:05Z',
    from: 'osv/AlmaLinux',
    references: [
      { kind: 'cve', id: 'CVE-2026-1', href: 'https://nvd.nist.gov/vuln/detail/CVE-2026-1' },
      { kind: 'cve', id: 'CVE-2026-2', href: 'https://e.example/CVE-2026-2' },
      { kind: 'self', id: 'ALSA-2026:5', href: 'https://errata.example/9/ALSA-2026-5.html' },
      { kind: 'other', id: 'https://bugs.example/7', href: 'https://bugs.example/7' },
    ],
    packages: [
      {
        name: 'xz-libs',
        epoch: '1',
        version: '5.2',
        release: '8.el9',
        arch: 'x86_64',
        source: 'xz-5.2-8.el9.src.rpm',
        file: 'xz-libs-5.2-8.el9.x86_64.rpm',
      },
      {
        name: 'xz-doc',
        epoch: '0',
        version: '5.2',
        release: '8.el9',
        arch: 'noarch',
        source: 'xz-5.2-8.el9.src.rpm',
        file: 'xz-doc-5.2-8.el9.noarch.rpm',
      },
    ],
  })
})
