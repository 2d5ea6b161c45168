import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { api } from '../server/api.ts'
import { ERRORS } from '../server/core/errors.ts'
import { VERBS } from '../server/machine/protocol.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const page = read('docs/appliance.md')
const plain = page.replaceAll(/^ *```[^]*?^ *```$/gm, '')

/** What somebody is told to type: in a text, and in lines of their own; pieces of one line apart. */
const commands = [
  ...[...plain.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code).filter(code => code.includes(' ')),
  ...[...plain.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line),
]
  .flatMap(line => line.split(' && '))
  .map(line => line.replace(/ +#.*$/, '').trim())

const units = new Set(
  globSync('{root,disk/root}/usr/lib/systemd/system/**/*.{service,socket,timer,path}', {
    cwd: import.meta.dirname,
  }).map(path => path.split('/').at(-1) ?? ''),
)
/** Of Debian, which this machine has with its packages. */
const DEBIAN = ['ssh']
const isUnit = (word: string): boolean => {
  const name = word.replaceAll("'", '').replace(/@[^.]*$/, '@')
  return DEBIAN.includes(name) || units.has(name) || units.has(`${name}.service`)
}
const words = (text: string): string[] => text.split(/\s+/)
const main = read('appliance/main.ts')
const compose = read('appliance/compose.yaml')
const sources = globSync('appliance/{machine,root,container}/**/*', { cwd: ROOT, withFileTypes: true })
  .filter(one => one.isFile())
  .map(one => readFileSync(join(one.parentPath, one.name), 'utf8'))
const named = (what: string): boolean => sources.some(source => source.includes(what))

/** Each kind of command, and what is wrong with one of it. */
const KINDS: readonly (readonly [RegExp, (command: string) => boolean])[] = [
  [
    /^npm run appliance\b/,
    command =>
      words(command.replace('npm run appliance', '').replace(' -- ', '')).every(word =>
        word.startsWith('--')
          ? main.includes(`    ${word.slice(2)}: {`)
          : !/^[a-z]/.test(word) || main.includes(`'${word}'`) || /bookworm|qcow2/.test(word),
      ),
  ],
  [/^npm test -- appliance$/, () => read('vitest.config.ts').includes("'appliance'")],
  [/^appliance\/provision\.sh \S+\.tar\.zst$/, () => existsSync(join(ROOT, 'appliance/provision.sh'))],
  [/^systemctl (enable --now|restart|reload) \S+$/, command => isUnit(words(command).at(-1) ?? '')],
  [/^journalctl -u \S+$/, command => isUnit(words(command)[2] ?? '')],
  [/^journalctl -t \S+$/, command => named(`systemd-cat -t ${words(command)[2]}`)],
  [/^cat \/var\/lib\/gatehouse-update\/work\.json$/, () => named('/work.json') && named("'/var/lib/gatehouse-update'")],
  [
    /^podman build /,
    command => words(command).every(word => !/^appliance\//.test(word) || existsSync(join(ROOT, word))),
  ],
  [
    /^(\w+=\S+ )?podman compose -f appliance\/compose\.yaml up -d$/,
    command => compose.includes(command.split('=')[0] ?? ''),
  ],
  [
    /^podman compose -f appliance\/compose\.yaml exec daemon \/usr\/lib\/gatehouse\/entry token$/,
    () => /^ {2}daemon:/m.test(compose) && /^ {2}token\)/m.test(read('appliance/container/entry')),
  ],
  [
    /^echo 'add rule inet gatehouse input .*' >\/etc\/gatehouse\/firewall\.d\/ssh\.nft$/,
    () => read('appliance/root/usr/share/gatehouse/firewall.nft').includes('/etc/gatehouse/firewall.d/*.nft'),
  ],
  [
    /^(GET|POST) \/\S+$/,
    command =>
      Object.keys(api).some(route =>
        command.endsWith('…') ? route.startsWith(command.slice(0, -1)) : route === command,
      ),
  ],
]
/** Programs of Debian that are only named, and a line of the seed, which `seed-file.test.ts` reads. */
const NAMED = ['systemd-analyze security', 'chmod a+r', 'address = dhcp']

test('the page of the appliance has commands', () => {
  expect(commands.length).toBeGreaterThan(25)
})

test.each([...new Set(commands)].filter(one => !NAMED.includes(one)))(
  'the command of the page is there: %s',
  command => {
    const [, isRight] = KINDS.find(([kind]) => kind.test(command)) ?? []
    expect(isRight, 'a command of a kind that this test does not know').toBeDefined()
    expect(isRight?.(command)).toBe(true)
  },
)

test('units, verbs, errors and files that the page names are there', () => {
  const codes = [...plain.matchAll(/(?<!`)`([^`\s]+)`(?!`)/g)].map(([, code = '']) => code)
  const wrong = codes.filter(code =>
    /^gatehouse[\w-]*@?\.(service|timer|socket)$/.test(code)
      ? !units.has(code)
      : /^(certificate|remote_log|network|time|power|update)\.[a-z]+$/.test(code)
        ? !(code in VERBS)
        : /^(machine|medium)_[a-z]+$/.test(code)
          ? !(code in ERRORS)
          : /^(server|appliance|ui|docs)\/\S+$/.test(code)
            ? !existsSync(join(ROOT, code))
            : /^\/(etc|usr|var\/lib|run)\/gatehouse\S*$/.test(code) && !named(code.replace(/\/$/, '')),
  )
  expect(wrong).toEqual([])
})
