import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Connection, Envelope } from '../../../electron/core/bridge.ts'
import { createAuthority, type Authority } from '../../support/authority.ts'
import { startProgram, type Program } from '../around.ts'
import { startLyingServer, type LyingServer } from './lying-server.ts'

/** A token as the program keeps it; nobody signed it. */
export const TOKEN = 'e30.eyJzdWIiOiJhZGEifQ.x'

/** What a row of the list stands on: the program with one trusted appliance, which is a server that lies. */
export interface Stage {
  readonly program: Program
  readonly server: LyingServer
  /** The appliance's id. */
  readonly id: string
  readonly authority: Authority
  /** Another one of the same name. */
  readonly impostor: Authority
  /** For files of the test. */
  readonly folder: string
  view(): Promise<Connection | undefined>
  /** What was asked for pages and by files; the program asks for health, events and the queue by itself. */
  askedByPages(): string[]
  send(path: string): Promise<Envelope>
  phases(): Promise<string[]>
}

/**
 * Sets a stage for each test, and holds every one to the same: nothing was opened, copied or trusted, and no file was
 * fetched.
 * @param take  gets the stage when a test begins
 */
export function stages(releaseKey: string | undefined, take: (stage: Stage) => void): void {
  let authority: Authority
  let impostor: Authority
  let folder: string
  let server: LyingServer
  let program: Program
  beforeAll(async () => {
    ;[authority, impostor] = await Promise.all([createAuthority(), createAuthority()])
    folder = await mkdtemp(join(tmpdir(), 'gh-hostile-'))
  })
  afterAll(async () => {
    await Promise.all([authority.close(), impostor.close(), rm(folder, { recursive: true, force: true })])
  })
  beforeEach(async () => {
    server = await startLyingServer(await authority.issue())
    program = await startProgram({ around: { releaseKey } })
    const { look } = await program.home('connections.look', { address: server.origin })
    const facts = { name: 'box', colour: 'ochre', environment: '', by: 'fingerprint' } as const
    const { id } = await program.home('connections.trust', { look, ...facts })
    await program.page(id, 'session.keep', { token: TOKEN })
    const view = async (): Promise<Connection | undefined> => (await program.home('connections.list', {}))[0]
    await expect.poll(async () => (await view())?.state).toBe('healthy')
    await expect.poll(() => server.asked.some(one => one.includes('review-queue'))).toBe(true)
    server.asked.length = 0
    take({
      ...{ program, server, id, authority, impostor, folder, view },
      askedByPages: () => server.asked.filter(one => !/^GET (\/health$|\/api\/v1\/(dashboard|security)\/)/.test(one)),
      send: path => {
        const form = { distribution: 'jammy', component: '' }
        return program.desktop.message('uploads.add', { files: [{ path, format: 'deb', form }] }, `app://${id}/`)
      },
      phases: async () => (await program.page(id, 'uploads.list', {})).items.map(one => one.phase),
    })
  })
  afterEach(async () => {
    try {
      expect([program.opened, program.copied.text]).toEqual([[], ''])
      expect((await program.home('connections.list', {})).map(({ name, trust }) => [name, trust])).toEqual([
        ['box', 'pinned'],
      ])
      expect(await readdir(join(program.folder, 'downloads')).catch(() => [])).toEqual([])
    } finally {
      await program.close()
      await server.close()
    }
  })
}
