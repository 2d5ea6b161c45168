import { TOKEN_PLACE, TOKEN_USER } from '../../core/client-setup.ts'
import type { RegistryClient, RegistryFacts, RegistrySetup } from '../registry-client.ts'
import { farPrefix } from './names.ts'

/** Host and path of an image below the registry, as image names write it: without scheme and `/v2`. */
function placeOf({ address }: Pick<RegistryFacts, 'address'>): {
  readonly host: string
  readonly place: string
  readonly isPlain: boolean
} {
  const url = new URL(address)
  const registry = url.pathname.replace(/^\/v2\//, '')
  return { host: url.host, place: `${url.host}/${registry}`, isPlain: url.protocol === 'http:' }
}

/** A login that reads the token from a pipe, so that it does not stand in its command line. */
const stdin = (command: string): string => `echo ${TOKEN_PLACE} | ${command}`

/** A registry as its clients are set up for it. */
interface Side extends RegistryFacts {
  /** What stands before the names of the images that it reads through to: `docker.io`, `ghcr.io/team`. */
  readonly far: string | undefined
}

const ifPublishes = <Key extends string>({ publishes }: Side, key: Key, line: string): Partial<Record<Key, string>> =>
  publishes ? ({ [key]: line } as Record<Key, string>) : {}

const HELD_NOTE =
  'A push that is held for review succeeds, and its tag stays where it was: the tag moves when the image is approved.'
const DIGEST_NOTE =
  'A version is the digest of its manifest. Deploy by digest, so that a tag that moves changes nothing.'

/** docker. Source: docs.docker.com, "docker login", "daemon.json". */
function docker(side: Side): RegistrySetup {
  const { host, place, isPlain } = placeOf(side)
  return {
    client: 'docker',
    files: isPlain
      ? [
          {
            path: '/etc/docker/daemon.json',
            content: `${JSON.stringify({ 'insecure-registries': [host] }, null, 2)}\n`,
            first: true,
          },
        ]
      : [],
    setup: [stdin(`docker login ${host} --username ${TOKEN_USER} --password-stdin`)],
    install: `docker pull ${place}/PACKAGE`,
    ...ifPublishes(side, 'publish', `docker push ${place}/PACKAGE`),
    notes: [
      ...(isPlain
        ? ['This address has no TLS: docker takes it only where its daemon.json names it, after a restart.']
        : []),
      ...(side.publishes
        ? ['docker does not show that a push is held; podman, crane and the console do.', HELD_NOTE]
        : [DIGEST_NOTE]),
    ],
  }
}

/** podman, buildah. Source: containers-registries.conf(5), podman-login(1). */
function podman(side: Side): RegistrySetup {
  const { host, place, isPlain } = placeOf(side)
  const insecure = isPlain ? 'insecure = true\n' : ''
  const tables = [
    ...(isPlain ? [`[[registry]]\nlocation = "${host}"\n${insecure}`] : []),
    ...(side.far === undefined ? [] : [`[[registry]]\nprefix = "${side.far}"\nlocation = "${place}"\n${insecure}`]),
  ]
  return {
    client: 'podman',
    files:
      tables.length === 0
        ? []
        : [{ path: '/etc/containers/registries.conf.d/gatehouse.conf', content: tables.join('\n'), first: true }],
    setup: [stdin(`podman login ${host} --username ${TOKEN_USER} --password-stdin`)],
    install: `podman pull ${place}/PACKAGE`,
    ...ifPublishes(side, 'publish', `podman push ${place}/PACKAGE`),
    notes: [
      ...(side.publishes ? [HELD_NOTE] : []),
      ...(side.far === undefined
        ? []
        : [
            `With that file images of ${side.far} are pulled through this registry under the names that they have there.`,
          ]),
      DIGEST_NOTE,
    ],
  }
}

/** skopeo. Source: skopeo-login(1), skopeo-copy(1). */
function skopeo(side: Side): RegistrySetup {
  const { host, place, isPlain } = placeOf(side)
  const flag = (side: 'src' | 'dest'): string => (isPlain ? ` --${side}-tls-verify=false` : '')
  return {
    client: 'skopeo',
    files: [],
    setup: [
      stdin(`skopeo login ${host}${isPlain ? ' --tls-verify=false' : ''} --username ${TOKEN_USER} --password-stdin`),
    ],
    install: `skopeo copy${flag('src')} docker://${place}/PACKAGE oci:image`,
    ...ifPublishes(side, 'publish', `skopeo copy${flag('dest')} oci:image docker://${place}/PACKAGE`),
    notes: side.publishes
      ? [HELD_NOTE, 'skopeo delete removes the digest behind a tag, and with it every tag on it.']
      : [DIGEST_NOTE],
  }
}

/** Source: kubernetes.io, "Pull an Image from a Private Registry"; containerd, docs/hosts.md. */
function kubernetes(side: Side): RegistrySetup {
  const { host, place, isPlain } = placeOf(side)
  const secret = `kubectl create secret docker-registry gatehouse --docker-server=${host} --docker-username=${TOKEN_USER} --docker-password=${TOKEN_PLACE}`
  return {
    client: 'kubernetes, containerd',
    files: isPlain
      ? [
          {
            path: `/etc/containerd/certs.d/${host}/hosts.toml`,
            content: `server = "http://${host}"\n\n[host."http://${host}"]\n  capabilities = ["pull", "resolve"]\n`,
            first: true,
          },
        ]
      : [],
    setup: side.needsToken
      ? [secret, `kubectl patch serviceaccount default -p '{"imagePullSecrets": [{"name": "gatehouse"}]}'`]
      : [],
    install: `kubectl run NAME --image=${place}/PACKAGE`,
    notes: [DIGEST_NOTE, 'An image that is held or in quarantine does not start: the event of the pod has the reason.'],
  }
}

/** Clients of a registry for container images. */
export const ociClient: RegistryClient = {
  root: 'v2',
  placeOf: address => placeOf({ address }).place,
  setups({ registry }, facts) {
    const { kind = 'hosted', upstream } = registry ?? {}
    const far = kind === 'proxy' && upstream !== undefined ? farPrefix(upstream.url) : undefined
    const side: Side = { ...facts, far }
    return [docker(side), podman(side), skopeo(side), kubernetes(side)]
  },
}
