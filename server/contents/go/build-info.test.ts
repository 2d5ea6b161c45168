import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { mutated } from '../../../test/support/mutate-program.ts'
import { addressOf, elf, fat, machO, numbers, pe, type Shape } from '../../../test/support/programs.ts'
import { Malformed } from '../../lib/limited.ts'
import { goReaders } from './readers.ts'

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1')
const DEPS = [
  'path\texample.com/hello',
  'mod\texample.com/hello\t(devel)\t',
  'dep\tgolang.org/x/net\tv0.5.0\th1:a=',
  '=>\tgolang.org/x/net\tv0.6.0\th1:b=',
  'dep\tgolang.org/x/text\tv0.14.0\th1:c=',
  'dep\tgopkg.in/yaml.v3\tv3.0.1\t',
  '=>\t./localyaml\t(devel)\t',
  'build\t-compiler=gc',
].join('\n')
const FOUND = [
  'pkg:golang/stdlib@1.26.8 shipped certain',
  "pkg:golang/example.com/hello shipped certain: It is the program's own module, and was not built from a release.",
  'pkg:golang/golang.org/x/net@v0.6.0 shipped certain',
  'pkg:golang/golang.org/x/text@v0.14.0 shipped certain',
  'pkg:golang/gopkg.in/yaml.v3 shipped certain: It does not come from the registry that advisories are about.',
]

const marked = (modules: string): Buffer =>
  modules === '' ? Buffer.alloc(0) : Buffer.from(`${'<'.repeat(16)}${modules}\n${'>'.repeat(16)}`)

function withLength(bytes: Buffer): Buffer {
  const length = [bytes.length % 128, Math.floor(bytes.length / 128)]
  return Buffer.concat([
    length[1] === 0 ? Buffer.from([length[0] ?? 0]) : Buffer.from([(length[0] ?? 0) | 128, length[1] ?? 0]),
    bytes,
  ])
}

/** As Go 1.18 and later write it. */
const inline = (modules = DEPS, version = 'go1.26.8'): Buffer =>
  Buffer.concat([
    MAGIC,
    Buffer.from([0, 2]),
    Buffer.alloc(16),
    withLength(Buffer.from(version)),
    withLength(marked(modules)),
  ])

/** As Go 1.13 to 1.17 wrote it, with the strings in the part behind it. */
function pointed(index: number, { wordBytes = 8, isBigEndian = false }: Shape = {}) {
  const [version, modules] = [Buffer.from('go1.15.2'), marked(DEPS)]
  const strings = addressOf(index + 1)
  const word = (value: number) => [value, wordBytes] as const
  const text = strings + 4 * wordBytes
  return [
    Buffer.concat([
      MAGIC,
      Buffer.from([wordBytes, isBigEndian ? 1 : 0]),
      numbers([word(strings), word(strings + 2 * wordBytes)], isBigEndian),
    ]),
    Buffer.concat([
      numbers([word(text), word(version.length), word(text + version.length), word(modules.length)], isBigEndian),
      version,
      modules,
    ]),
  ] as const
}

const TEXT = { name: '.text', bytes: Buffer.alloc(100) }
const section = (bytes: Buffer, name = '.go.buildinfo') => ({ name, bytes, isWritable: true })
const SHAPES: readonly Shape[] = [
  { wordBytes: 8 },
  { wordBytes: 4 },
  { wordBytes: 8, isBigEndian: true },
  { wordBytes: 4, isBigEndian: true },
]
const read = (bytes: Buffer) => purls(goReaders, 'usr/bin/hello', bytes)

test('every kind of program tells its release and its modules, replaced ones as they are replaced', async () => {
  for (const shape of SHAPES) {
    expect(await read(elf([TEXT, section(inline())], shape))).toEqual(FOUND)
    expect(await read(elf([TEXT, section(inline(), '.data')], { ...shape, isBare: true }))).toEqual(FOUND)
    expect(await read(machO([TEXT, section(inline(), '__go_buildinfo')], shape))).toEqual(FOUND)
  }
  expect(await read(pe([TEXT, section(inline(), '.data')]))).toEqual(FOUND)
  const slices = SHAPES.map(shape => machO([section(inline(), '__go_buildinfo')], shape))
  expect(new Set(await read(fat(slices)))).toEqual(new Set(FOUND))
})

test('Go 1.13 to 1.17 point to their strings', async () => {
  const found = [FOUND[0]?.replace('1.26.8', '1.15.2'), ...FOUND.slice(1)]
  for (const shape of SHAPES) {
    const [info, strings] = pointed(1, shape)
    const rest = { name: '.rodata', bytes: strings }
    expect(await read(elf([TEXT, section(info), rest], shape))).toEqual(found)
    expect(await read(elf([TEXT, section(info), rest], { ...shape, isBare: true }))).toEqual(found)
    expect(await read(machO([TEXT, section(info, '__go_buildinfo'), rest], shape))).toEqual(found)
  }
  const [info, strings] = pointed(1)
  expect(await read(pe([TEXT, section(info, '.data'), { name: '.rdata', bytes: strings }]))).toEqual(found)
})

test.each([
  ['go1.20', '@1.20 shipped certain'],
  ['go1.22rc1', '@1.22.0-rc.1 shipped certain'],
  ['go1.20.5 X:boringcrypto', '@1.20.5 shipped certain'],
  ['go1.21.13 (Red Hat 1.21.13-3.el9_4)', '@1.21.13 shipped probable'],
  ['go1.22.3-1-fips', '@1.22.3 shipped probable'],
  ['devel go1.23-abcdef Mon Jan 1', ' shipped certain'],
  ['go1.23-devel_abcdef', ' shipped probable'],
  ['unknown', ' shipped certain'],
])('the standard library of %s is known by its release alone', async (version, expected) => {
  expect((await read(elf([section(inline(DEPS, version))])))[0]).toBe(`pkg:golang/stdlib${expected}`)
})

const OWN =
  "pkg:golang/example.com/hello%s shipped certain: It is the program's own module, and was not built from a release."
test.each([
  ['v0.0.0-20240102030405-abcdef123456+dirty', '', OWN.replace('%s', '@v0.0.0-20240102030405-abcdef123456%2Bdirty')],
  ['v1.2.4-0.20240102030405-abcdef123456', '', OWN.replace('%s', '@v1.2.4-0.20240102030405-abcdef123456')],
  ['v1.2.3', '', 'pkg:golang/example.com/hello@v1.2.3 shipped certain'],
  ['(devel)', '"-s -w -X main.version=1.2.3"', 'pkg:golang/example.com/hello@v1.2.3 shipped probable'],
  ['(devel)', '"-X \'example.com/hello/cmd.Version=v1.2.3\'"', 'pkg:golang/example.com/hello@v1.2.3 shipped probable'],
  ['(devel)', '"-X example.org/other.version=1.2.3"', OWN.replace('%s', '')],
  ['(devel)', '"-X main.version=1.2.3-4-gabcdef"', OWN.replace('%s', '')],
])('a main module of %s with the flags %s', async (version, flags, expected) => {
  const modules = `path\texample.com/hello\nmod\texample.com/hello\t${version}\t\nbuild\t-ldflags=${flags}`
  expect(await read(elf([section(inline(modules))]))).toEqual([FOUND[0], expected])
})

test('a program that names no module says so, a tool of Go and a single file need not', async () => {
  const stdlib = {
    type: 'golang',
    name: 'stdlib',
    version: '1.19.8',
    presence: 'shipped',
    rule: 'go-buildinfo',
    confidence: 'certain',
  }
  const why = 'It is a program in Go that does not name the modules it was built from.'
  const answer = (bytes: Buffer) => findings(goReaders, 'usr/bin/gh', bytes)
  const gopath = elf([section(inline('path\tgithub.com/cli/cli/cmd/gh\nbuild\t-compiler=gc', 'go1.19.8'))])
  const own = "It is the program's own module, and was not built from a release."
  expect(await answer(gopath)).toEqual({
    found: [stdlib, { ...stdlib, namespace: 'github.com/cli/cli/cmd', name: 'gh', version: undefined, unasked: own }],
    unopened: [{ path: 'usr/bin/gh', size: gopath.length, why }],
  })
  const old = elf([TEXT, section(Buffer.alloc(40), '.gopclntab')])
  expect(await answer(old)).toEqual({ found: [], unopened: [{ path: 'usr/bin/gh', size: old.length, why }] })
  for (const path of ['cmd/go', 'command-line-arguments'])
    expect(await answer(elf([section(inline(`path\t${path}\nbuild\t-compiler=gc`, 'go1.19.8'))]))).toEqual([stdlib])
})

test('the magic in a table of strings is no build information', async () => {
  const text = Buffer.concat([MAGIC, Buffer.from([0, 2]), Buffer.from('and other text of the program, long enough')])
  const bare = { isBare: true }
  expect(await findings(goReaders, 'a', elf([TEXT, { name: '.rodata', bytes: text }]))).toEqual([])
  expect(await findings(goReaders, 'a', elf([TEXT, { name: '.rodata', bytes: text }], bare))).toEqual([])
  const unaligned = Buffer.concat([Buffer.alloc(8), inline(DEPS, 'go1.2.3')])
  const real = Buffer.concat([text, Buffer.alloc(64 - (text.length % 64)), inline()])
  expect(await read(elf([section(unaligned), section(real)], bare))).toEqual(FOUND)
  expect(await findings(goReaders, 'A.class', Buffer.from('cafebabe00000034', 'hex'))).toBe('not wanted')
})

test('cut and damaged build information is refused', async () => {
  const whole = inline()
  const damaged = [
    elf([section(whole.subarray(0, 32))]),
    elf([section(whole)]).subarray(0, 0x4000 + 60),
    elf([section(Buffer.concat([whole.subarray(0, 32), Buffer.alloc(20, 0xff)]))]),
    machO([section(whole, '__go_buildinfo')]).subarray(0, 0x4000 + 60),
    fat([machO([section(whole, '__go_buildinfo')])]).subarray(0, 0x4000),
    elf([section(pointed(0)[0])]),
  ]
  for (const bytes of damaged.slice(1)) await expect(findings(goReaders, 'a', bytes)).rejects.toThrow(Malformed)
  // a version of no bytes is none
  expect(await findings(goReaders, 'a', damaged[0] ?? whole)).toEqual([])
})

test('a program that repeats the magic, or loads the same bytes again and again, is refused', async () => {
  const repeated = Buffer.alloc(64 * 2000, Buffer.concat([MAGIC, Buffer.from([8, 0]), Buffer.alloc(48)]))
  const many = Buffer.concat([elf([section(Buffer.alloc(8))], { isBare: true }), repeated])
  // the one segment reaches to the end of the file
  many.writeUInt32LE(many.length - 0x4000, 64 + 32)
  await expect(findings(goReaders, 'a', many)).rejects.toThrow('again and again')
  const parts = Array.from({ length: 5 }, () => section(Buffer.alloc(8)))
  const overlapping = elf(parts, { isBare: true })
  for (let row = 0; row < parts.length; row++) overlapping.writeUInt32LE(overlapping.length - 1, 64 + 56 * row + 32)
  await expect(findings(goReaders, 'a', overlapping)).rejects.toThrow('its segments overlap')
  const slice = machO([section(inline(), '__go_buildinfo')])
  const twice = fat([slice, slice])
  twice.writeUInt32BE(8 + 40, 8 + 20 + 8)
  twice.writeUInt32BE(twice.length - 48, 8 + 20 + 12)
  await expect(findings(goReaders, 'a', twice)).rejects.toThrow('overlap')
})

test('whatever the bytes are, the answer is components or a refusal', async () => {
  const [info, strings] = pointed(0)
  const programs = [
    elf([section(inline())]),
    elf([section(info), { name: '.rodata', bytes: strings }], { isBare: true }),
    pe([section(inline(), '.data')]),
    fat([machO([section(inline(), '__go_buildinfo')])]),
  ]
  for (const program of programs)
    for (const bytes of mutated(program, 300))
      await findings(goReaders, 'a', bytes).catch(error => expect(error).toBeInstanceOf(Malformed))
}, 20_000)
