import type { PackageIdentity } from '../../core/identity.ts'
import { quote } from '../../lib/limited.ts'

/** Source: distribution specification 1.1, "Pulling manifests": names and tags. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/
/** Clients limit host and name together to 255. */
const LONGEST_NAME = 200
/** `linux/amd64`, `linux/arm64/v8`, and what has no platform. */
const ARCH = /^(?:[a-z0-9]{1,20}\/[a-z0-9_]{1,20}(?:\/[a-z0-9.]{1,20})?|index|artifact)$/

/** Whether a text may name a repository below a registry. */
export const isName = (text: string): boolean => text.length <= LONGEST_NAME && NAME.test(text)
export const isTag = (text: string): boolean => TAG.test(text)

/** Why a name, version or platform is refused, or undefined. */
export function complain({ name, version, arch }: PackageIdentity): string | undefined {
  if (!isName(name))
    return `its name ${quote(name)} is not allowed: segments of lower-case letters and digits, joined by ".", "_", "__" or "-", at most ${LONGEST_NAME} characters`
  if (!/^sha256:[0-9a-f]{64}$/.test(version)) return `its version ${quote(version)} is no SHA-256`
  if (!ARCH.test(arch))
    return `its platform ${quote(arch)} is not allowed: os/architecture in lower-case letters and digits`
  return undefined
}

/** The server of Docker Hub, and the names that people know it by. Source: docker, "registry.IndexServer". */
export const DOCKER_HUB = 'registry-1.docker.io'
export const isDockerHub = (host: string): boolean => ['docker.io', 'index.docker.io', DOCKER_HUB].includes(host)

/** What the path of an upstream's address puts before every name; `v2` in front of it is that of the protocol. */
export function pathBefore({ pathname }: URL): readonly string[] {
  const segments = pathname.split('/').filter(segment => segment !== '')
  return segments[0] === 'v2' ? segments.slice(1) : segments
}

/** What stands before the names of images of an upstream: `ghcr.io/team`. @param url  its address */
export function farPrefix(url: string): string {
  const target = new URL(url)
  return [isDockerHub(target.host) ? 'docker.io' : target.host, ...pathBefore(target)].join('/')
}
