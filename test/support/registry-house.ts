import { expect } from 'vitest'
import { startDaemon, type Daemon } from './daemon.ts'
import { startRegistryUpstream, type RegistryUpstream } from './registry-upstream.ts'

/** A daemon that may reach two registries of somebody else, and what left the house for them. */
export interface RegistryHouse {
  readonly daemon: Daemon
  /** Of an admin. */
  readonly token: string
  readonly upstream: RegistryUpstream
  readonly second: RegistryUpstream
  /** Asks as the admin; anything but a success ends the test. */
  must(method: string, path: string, body?: object): Promise<void>
  /** Makes a registry of the format. */
  make(name: string, more?: object): Promise<void>
  /** The paths that both were asked for since the last look. */
  left(): readonly string[]
  close(): Promise<void>
}

/** Starts it without registries; what no engine looked at is published with a warning. */
export async function startRegistryHouse(format: string): Promise<RegistryHouse> {
  const [upstream, second] = await Promise.all([startRegistryUpstream(), startRegistryUpstream()])
  const daemon = await startDaemon()
  const token = await daemon.setupAdmin()
  const ask = (method: string, path: string, body?: object) =>
    daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  const set = await ask('PATCH', '/settings/', {
    notifications: { allow_private_hosts: '127.0.0.1' },
    validation: { on_scanner_unavailable: 'warn', clamav_scan: false },
  })
  expect(set.status, set.text).toBe(200)
  return {
    ...{ daemon, token, upstream, second },
    async must(method, path, body) {
      const { status, text } = await ask(method, path, body)
      expect(status, text).toBeLessThan(300)
    },
    async make(name, more = {}) {
      const made = await ask('POST', '/registries/', { name, format, ...more })
      expect(made.status, made.text).toBe(201)
    },
    left() {
      const paths = [...upstream.asked(), ...second.asked()]
      upstream.forget()
      second.forget()
      return paths
    },
    async close() {
      await daemon.close()
      await upstream.close()
      await second.close()
    },
  }
}
