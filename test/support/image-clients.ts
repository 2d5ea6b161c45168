import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltImage } from './oci-images.ts'
import { layoutOf } from './skopeo.ts'
import { findProgram, run, type Ran } from './tools.ts'

/** What became of a push or a pull; `digest`: of the manifest that went or came, undefined where none did. */
export type Moved = Ran & { readonly digest: string | undefined }

/** Programs that push and pull images, as people run them, each with a home of its own. */
export interface ImageClient {
  /** Keeps a credential for the server, as the program does. */
  login(secret: string): Promise<Ran>
  /** @param name  `ours/app:v1` @param within  the images of an index */
  push(image: BuiltImage, name: string, within?: readonly BuiltImage[]): Promise<Moved>
  pull(name: string): Promise<Moved>
  /** One tag a line, among other words. */
  tags(name: string): Promise<Ran>
  /** Undefined where the program removes nothing. */
  remove?(name: string): Promise<Ran>
  close(): Promise<void>
}

/** The program, named by the variable or on PATH; undefined: nowhere. */
const program = (name: string): string | undefined => process.env[name.toUpperCase()] ?? findProgram(name)

interface Home {
  readonly folder: string
  /** `127.0.0.1:41231` */
  readonly host: string
  /** A folder that is not there yet. */
  fresh(): Promise<string>
  run(...args: readonly string[]): Promise<Ran>
}
type Make = (home: Home) => Omit<ImageClient, 'close'>

const digestIn = (text: string): string | undefined => /sha256:[0-9a-f]{64}/.exec(text)?.[0]
const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
/** With the only digest of a text, where the program succeeded. */
async function moved(ran: Promise<Ran>, text: () => string | Promise<string>): Promise<Moved> {
  const done = await ran
  return { ...done, digest: done.code === 0 ? digestIn(await text()) : undefined }
}
/** The first manifest that an image layout names. Source: OCI image specification 1.1, "Image Layout". */
const firstOf = (layout: string) => (): Promise<string> => readText(join(layout, 'index.json'))

const crane: Make = ({ host, fresh, run: crane }) => ({
  login: secret => crane('auth', 'login', host, '-u', 'person', '-p', secret),
  async push(image, name, within) {
    const layout = await layoutOf(await fresh(), image, within)
    const index = within === undefined ? [] : ['--index']
    return moved(crane('push', layout, `${host}/${name}`, '--insecure', ...index), () => image.digest)
  },
  async pull(name) {
    const to = join(await fresh(), 'layout')
    return moved(crane('pull', '--insecure', '--format', 'oci', `${host}/${name}`, to), firstOf(to))
  },
  tags: name => crane('ls', '--insecure', `${host}/${name}`),
  remove: name => crane('delete', '--insecure', `${host}/${name}`),
})

const regctl: Make = ({ host, fresh, run: regctl }) => {
  const plain = (): Promise<Ran> => regctl('registry', 'set', host, '--tls', 'disabled')
  return {
    async login(secret) {
      await plain()
      return regctl('registry', 'login', host, '-u', 'person', '-p', secret)
    },
    async push(image, name, within) {
      await plain()
      const layout = await layoutOf(await fresh(), image, within)
      return moved(regctl('image', 'copy', `ocidir://${layout}@${image.digest}`, `${host}/${name}`), () => image.digest)
    },
    async pull(name) {
      await plain()
      const to = join(await fresh(), 'layout')
      return moved(regctl('image', 'copy', `${host}/${name}`, `ocidir://${to}`), firstOf(to))
    },
    tags: name => regctl('tag', 'ls', `${host}/${name}`),
    remove: name => regctl('tag', 'rm', `${host}/${name}`),
  }
}

const oras: Make = ({ host, fresh, run: oras }) => ({
  login: secret => oras('login', '--plain-http', host, '-u', 'person', '-p', secret),
  async push(image, name, within) {
    const layout = await layoutOf(await fresh(), image, within)
    const from = `${layout}@${image.digest}`
    return moved(oras('cp', '--from-oci-layout', from, '--to-plain-http', `${host}/${name}`), () => image.digest)
  },
  async pull(name) {
    const to = join(await fresh(), 'layout')
    return moved(oras('cp', '--from-plain-http', `${host}/${name}`, '--to-oci-layout', `${to}:v1`), firstOf(to))
  },
  tags: name => oras('repo', 'tags', '--plain-http', `${host}/${name}`),
  remove: name => oras('manifest', 'delete', '--plain-http', '--force', `${host}/${name}`),
})

/** podman and buildah have the same commands for images, and a storage of their own; they pack layers anew. */
const storing: Make = ({ folder, host, fresh, run: store }) => {
  const at = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const open = ['--signature-policy', join(folder, 'policy.json'), '--tls-verify=false']
  const began = writeFile(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}')
  const here = async (...args: readonly string[]): Promise<Ran> => {
    await began
    return store(...at, ...args)
  }
  return {
    login: secret => here('login', '--tls-verify=false', '-u', 'person', '-p', secret, host),
    async push(image, name, within) {
      const layout = await layoutOf(await fresh(), image, within)
      const pulled = await here('pull', ...open, '-q', `oci:${layout}`)
      if (pulled.code !== 0) return { ...pulled, digest: undefined }
      const id = pulled.out.trim().split('\n').at(-1) ?? ''
      const digest = join(layout, 'pushed')
      const push = here('push', ...open, '--digestfile', digest, '--format', 'oci', id, `docker://${host}/${name}`)
      return moved(push, () => readText(digest))
    },
    async pull(name) {
      await here('rmi', '--all', '--force')
      return moved(here('pull', ...open, `docker://${host}/${name}`), async () => {
        const { out } = await here('images', '--digests', '--format', '{{.Digest}}')
        return out
      })
    },
    tags: name => here('search', '--tls-verify=false', '--list-tags', `${host}/${name}`),
  }
}

const MAKERS = { crane, regctl, oras, podman: storing, buildah: storing } as const
export type ImageProgram = keyof typeof MAKERS
export const IMAGE_PROGRAMS = Object.keys(MAKERS) as readonly ImageProgram[]

/** Why a program cannot be tried; undefined where it can. */
export const noImageProgram = (name: ImageProgram): string | undefined =>
  program(name) === undefined ? `needs ${name} on PATH, or named by ${name.toUpperCase()}` : undefined

/** Makes a client for one server over plain HTTP, with an empty home. */
export async function createImageClient(name: ImageProgram, url: string): Promise<ImageClient> {
  // podman wants short names, without capital letters
  const folder = join(tmpdir(), `gh-${randomUUID().slice(0, 8)}`)
  const env = {
    ...{ HOME: folder, DOCKER_CONFIG: join(folder, 'docker'), REGCTL_CONFIG: join(folder, 'regctl.json') },
    ...{ REGISTRY_AUTH_FILE: join(folder, 'auth.json'), XDG_RUNTIME_DIR: folder, TMPDIR: folder },
  }
  await mkdir(env.DOCKER_CONFIG, { recursive: true })
  await writeFile(env.REGISTRY_AUTH_FILE, '{}')
  let number = 0
  const home: Home = {
    folder,
    host: new URL(url).host,
    async fresh() {
      const made = join(folder, String(number++))
      await mkdir(made)
      return made
    },
    run: (...args) => run(program(name) ?? name, args, { cwd: folder, env }),
  }
  return { ...MAKERS[name](home), close: () => rm(folder, { recursive: true, force: true }) }
}
