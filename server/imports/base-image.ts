import type { Distribution } from '../core/repository.ts'

/** The names of images whose tag is the release of a distribution, by the family that scanners call it. */
const FAMILIES: Readonly<Record<string, string>> = {
  debian: 'debian',
  ubuntu: 'ubuntu',
  rockylinux: 'rocky',
  almalinux: 'almalinux',
  oraclelinux: 'oracle',
  fedora: 'fedora',
  leap: 'opensuse.leap',
  tumbleweed: 'opensuse.tumbleweed',
  alpine: 'alpine',
}

/**
 * Finds the distribution that an image is made of, by its name alone: `debian:12-slim`, `python:3.12-bookworm`,
 * `node:20-alpine3.20`. Undefined where the name does not say it, as `nginx:latest`.
 */
export function distributionOfImage(image: string, all: readonly Distribution[]): Distribution | undefined {
  const [, path = '', tag = ''] = /^(.*?)(?::([^/@:]+))?(?:@.*)?$/.exec(image.toLowerCase()) ?? []
  const words = tag.split(/[-_]/)
  const named = all.find(({ codename }) => codename === tag || words.includes(codename))
  if (named !== undefined) return named
  const family = FAMILIES[path.replace(/^.*\//, '')]
  const [release = ''] = words
  return all.find(({ scanner, builtin }) => {
    const [of, number = ''] = scanner?.split(':') ?? []
    return builtin && of === family && (release === number || release.startsWith(`${number}.`))
  })
}
