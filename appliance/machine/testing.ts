import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Ports, Ran } from './ports.ts'

/** What a program says, by how its command line begins; the longest beginning that fits counts. */
export type Said = Readonly<Record<string, string | Ran>>

export interface Testing extends Ports {
  /** Each command line that was run. */
  readonly ran: string[]
  readonly lines: string[]
  said: Said
  /** Answers of DNS servers in ms, or the code of an error. */
  dns: Readonly<Record<string, number | string>>
  clock: { now: string; up: number; boot: string }
  put(path: string, text: string): Promise<void>
  close(): Promise<void>
}

/** A machine that is a folder and recorded outputs. */
export async function testPorts(): Promise<Testing> {
  const root = await mkdtemp(join(tmpdir(), 'gatehouse-machine-'))
  const ports: Testing = {
    root,
    ran: [],
    lines: [],
    said: {},
    dns: {},
    clock: { now: '2026-11-26T20:00:00.000Z', up: 1000, boot: 'first' },
    now: () => new Date(ports.clock.now),
    wait: () => Promise.resolve(),
    upSeconds: () => ports.clock.up,
    bootId: () => Promise.resolve(ports.clock.boot),
    run(program, args) {
      const line = [program, ...args].join(' ')
      ports.ran.push(line)
      const [key] = Object.keys(ports.said)
        .filter(one => line.startsWith(one))
        .sort((a, b) => b.length - a.length)
      const said = key === undefined ? '' : (ports.said[key] ?? '')
      return Promise.resolve(typeof said === 'string' ? { code: 0, out: said, err: '' } : said)
    },
    askDns(server) {
      const said = ports.dns[server] ?? 'ETIMEOUT'
      return typeof said === 'number'
        ? Promise.resolve(said)
        : Promise.reject(Object.assign(new Error(said), { code: said }))
    },
    log: line => void ports.lines.push(line),
    async put(path, text) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), text)
    },
    close: () => rm(root, { recursive: true }),
  }
  return ports
}
