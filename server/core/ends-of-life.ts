import { DEFAULT_DISTRIBUTIONS } from './default-distributions.ts'
import type { Distribution } from './repository.ts'

const DAY_MS = 86_400_000

/**
 * The last days of free security updates of releases that the default set does not have, by scanner identifier.
 * Source: distro-info-data, and what the makers announced
 */
const OLDER: Readonly<Record<string, string>> = {
  'debian:7': '2018-05-31',
  'debian:8': '2020-06-30',
  'debian:9': '2022-06-30',
  'debian:10': '2024-06-30',
  'ubuntu:14.04': '2019-04-25',
  'ubuntu:16.04': '2021-04-30',
  'ubuntu:18.04': '2023-05-31',
  'alpine:3.14': '2023-05-01',
  'alpine:3.15': '2023-11-01',
  'alpine:3.16': '2024-05-23',
  'alpine:3.17': '2024-11-22',
  'redhat:6': '2020-11-30',
  'redhat:7': '2024-06-30',
  'centos:6': '2020-11-30',
  'centos:7': '2024-06-30',
  'centos:8': '2024-05-31',
  'oracle:6': '2021-03-31',
  'oracle:7': '2024-12-31',
  'fedora:38': '2024-05-21',
  'fedora:39': '2024-11-26',
  'fedora:40': '2025-05-13',
  'fedora:41': '2025-12-15',
  'fedora:42': '2026-05-13',
  'opensuse.leap:15.3': '2022-12-31',
  'opensuse.leap:15.4': '2023-12-07',
  'opensuse.leap:15.5': '2024-12-31',
}

/** The last day of free security updates, `YYYY-MM-DD`: as an admin set it, else as its maker announced it. */
export function endOf({ endOfLife, scanner = '' }: Pick<Distribution, 'endOfLife' | 'scanner'>): string | undefined {
  return endOfLife ?? DEFAULT_DISTRIBUTIONS.find(one => one.scanner === scanner)?.endOfLife ?? OLDER[scanner]
}

/** What is said of a release that is out of support; undefined for the others. */
export function outOfSupport(
  distribution: Pick<Distribution, 'endOfLife' | 'scanner' | 'label'>,
  now: Date,
): string | undefined {
  const end = endOf(distribution)
  return end === undefined || now.getTime() < Date.parse(end) + DAY_MS
    ? undefined
    : `${distribution.label} has had no free security updates since ${end}: what became known later may be missing.`
}
