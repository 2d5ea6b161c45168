import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { Malformed } from '../../lib/limited.ts'
import { goBuildInfo } from '../go/build-info.ts'
import { programStrings } from '../native/program-strings.ts'
import { auditSection } from '../rust/audit-section.ts'

/** A number of seven bits a byte. */
const leb = (value: number): Buffer => Buffer.from(value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)])
const sized = (bytes: Buffer): Buffer => Buffer.concat([leb(bytes.length), bytes])
const text = (value: string): Buffer => sized(Buffer.from(value, 'latin1'))
const section = (id: number, body: Buffer): Buffer => Buffer.concat([Buffer.from([id]), sized(body)])
const custom = (name: string, body: Buffer): Buffer => section(0, Buffer.concat([text(name), body]))
const data = (...segments: Buffer[]): Buffer =>
  section(
    11,
    Buffer.concat([
      leb(segments.length),
      ...segments.map((bytes, n) =>
        Buffer.concat([Buffer.from([0, 0x41]), leb(1000 * (n + 1)), Buffer.from([0x0b]), sized(bytes)]),
      ),
    ]),
  )
const wasm = (...sections: Buffer[]): Buffer => Buffer.concat([Buffer.from('\0asm\x01\0\0\0', 'latin1'), ...sections])

const modules = 'path\texample.com/w\nmod\texample.com/w\tv1.2.0\t\ndep\tgolang.org/x/text\tv0.3.7\th1:x\n'
const go = wasm(
  section(1, Buffer.alloc(3)),
  data(
    Buffer.from('runtime'),
    Buffer.concat([
      Buffer.from('3077af0c9274080241e1c107e6d618e6', 'hex'),
      Buffer.from(modules),
      Buffer.from('f932433186182072008242104116d8f2', 'hex'),
    ]),
  ),
  custom('producers', Buffer.concat([leb(1), text('language'), leb(1), text('Go'), text('go1.22.1')])),
)

test('a module that Go made names its modules and its release', async () => {
  expect(await purls([goBuildInfo], 'opt/a.wasm', go)).toEqual([
    'pkg:golang/stdlib@1.22.1 shipped certain',
    'pkg:golang/example.com/w@v1.2.0 shipped certain',
    'pkg:golang/golang.org/x/text@v0.3.7 shipped certain',
  ])
})

test('a module in Rust lists its crates, one in C its versions', async () => {
  const list = { packages: [{ name: 'time', version: '0.1.43', source: 'crates.io' }] }
  const rust = wasm(data(Buffer.from('x')), custom('.dep-v0', deflateSync(JSON.stringify(list))))
  expect(await purls([auditSection], 'a.wasm', rust)).toEqual(['pkg:cargo/time@0.1.43 shipped certain'])
  const c = wasm(data(Buffer.from('\0 inflate 1.2.11 Copyright 1995-2017 \0')))
  expect(await purls([programStrings], 'a.wasm', c)).toEqual(['pkg:generic/zlib@1.2.11 shipped probable'])
})

test('whatever the bytes are, the answer comes', async () => {
  for (const reader of [goBuildInfo, auditSection, programStrings])
    for (const bytes of [...mutated(go, 100), wasm(section(11, Buffer.alloc(20, 0xff)))])
      await findings([reader], 'a.wasm', bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
})
