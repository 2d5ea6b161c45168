import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findProgram, run } from './tools.ts'

// where Debian's packages of Maven's plugins lie; MAVEN_PLUGINS names another repository
const DEBIAN = '/usr/share/maven-repo'
const OTHERS = process.env.MAVEN_PLUGINS
const has = (plugin: string): boolean => existsSync(`${DEBIAN}/org/apache/maven/plugins/${plugin}`)
const hasDebian =
  ['maven-deploy-plugin', 'maven-dependency-plugin'].every(has) &&
  // the dependency plugin of Debian needs it and does not ask for it
  existsSync(`${DEBIAN}/junit/junit`)

/** A Maven that is on this machine. */
export interface MavenProgram {
  /** What it calls itself: `3.8.7` */
  readonly version: string
  readonly program: string
}

/**
 * The `mvn` on PATH, and those of the folders that MAVEN_HOMES names, one behind the other as in PATH. Without plugins
 * they can do nothing: those of Debian serve the one on PATH, those of the repository MAVEN_PLUGINS all of them.
 */
export async function findMavens(): Promise<readonly MavenProgram[]> {
  const homes = (process.env.MAVEN_HOMES ?? '').split(delimiter).filter(home => home !== '')
  const onPath = OTHERS !== undefined || hasDebian ? findProgram('mvn') : undefined
  const programs = [
    ...(onPath === undefined ? [] : [onPath]),
    ...(OTHERS === undefined ? [] : homes.map(home => join(home, 'bin', 'mvn'))),
  ]
  const found: MavenProgram[] = []
  for (const program of programs) {
    const { out } = await run(program, ['--version'])
    const [, version = 'unknown'] = /Apache Maven (\S+)/.exec(out) ?? []
    found.push({ version, program })
  }
  return found
}

export type Ran = { readonly code: number | null; readonly all: string; readonly local: string }

/** Runs of one Maven, each as a client that has fetched nothing of anybody yet but Maven's own plugins. */
export interface MavenClient {
  readonly folder: string
  /** @param token  of the server `ours`; '' sends none */
  run(args: readonly string[], token: string): Promise<Ran>
  close(): Promise<void>
}

/** @param groups  folders of groups that must be fetched anew each time: `org/example` */
export async function mavenClient({ program }: MavenProgram, groups: readonly string[]): Promise<MavenClient> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-mvn-'))
  // what Maven fetches of its own
  const own = join(folder, 'own')
  await mkdir(own)
  let runs = 0
  return {
    folder,
    async run(args, token) {
      const home = join(folder, String(runs++))
      const local = join(home, 'local')
      await mkdir(home)
      await run('cp', ['-al', own, local])
      const server =
        token === ''
          ? ''
          : `<servers><server><id>ours</id><username>x</username><password>${token}</password></server></servers>`
      await writeFile(
        join(home, 'settings.xml'),
        `<settings><localRepository>${local}</localRepository>${server}<mirrors><mirror><id>plugins</id><mirrorOf>central</mirrorOf><url>${OTHERS ?? `file://${DEBIAN}`}</url></mirror></mirrors></settings>`,
      )
      const { code, out, err } = await run(program, ['-B', '-s', join(home, 'settings.xml'), ...args], { cwd: home })
      await run('cp', ['-alf', `${local}/.`, own])
      for (const group of groups) await rm(join(own, group), { recursive: true, force: true })
      return { code, all: `${out}${err}`, local }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
