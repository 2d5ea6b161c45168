import { describe, expect, test } from 'vitest'
import { ToolFailed, type Exec } from '../../lib/exec.ts'
import { askClockSync } from './clock.ts'

/** Programs by their names: what they print, or how they end. */
const machine =
  (programs: Readonly<Record<string, string | number>>): Exec =>
  file => {
    const said = programs[file.split('/').at(-1) ?? '']
    if (said === undefined) return Promise.reject(new ToolFailed('not_started', 'it could not be started (ENOENT)'))
    return Promise.resolve(
      typeof said === 'number'
        ? { code: said, out: Buffer.from(''), err: 'no' }
        : { code: 0, out: Buffer.from(said), err: '' },
    )
  }
const ADJTIMEX = (status: number): string => `         mode: 0\n       status: ${status}\n`

describe('whether the clock of this machine is set right', () => {
  test.each([
    ['yes of timedatectl', { timedatectl: 'yes\n' }, true, 'timedatectl'],
    ['no of timedatectl', { timedatectl: 'no\n', adjtimex: ADJTIMEX(1) }, false, 'timedatectl'],
    ['the kernel, where no systemd runs', { timedatectl: 1, adjtimex: ADJTIMEX(8193) }, true, 'adjtimex'],
    ['the kernel, which nothing steers', { adjtimex: ADJTIMEX(64) }, false, 'adjtimex'],
    ['a program that says something else', { timedatectl: 'perhaps\n' }, null, null],
    ['nobody', {}, null, null],
  ] as const)('%s', async (_, programs, synchronised, by) => {
    expect(await askClockSync(machine(programs))).toEqual({ synchronised, said_by: by })
  })
})
