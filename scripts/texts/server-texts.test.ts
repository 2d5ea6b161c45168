import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AppError, ERRORS, type ErrorCode } from '../../server/core/errors.ts'
import { sayReport } from '../../server/imports/mirror/report.ts'
import { SYNC_STATES } from '../../server/imports/source.ts'
import { warnOfKeys } from '../../server/imports/trust/key-warnings.ts'
import { describeState } from '../../server/imports/trust/states.ts'
import { reader, type Pair } from '../../ui/server-texts.ts'
import { readTexts, SERVER_GERMAN } from './catalogue.ts'
import { faultsOf, readEntries } from './entries.ts'

const pairs: Pair[] = readEntries(readFileSync(SERVER_GERMAN, 'utf8')).map(
  ({ english: [english = ''], german: [german = ''] }) => [english, german],
)
const read = reader(pairs)
const MARK = /\{(\w+)\}/g

// When this fails: npm run texts, then write the German in ui/locales/server/de.po.
test('every sentence of the server that people read has its German, with the same placeholders', async () => {
  const { written } = await readTexts()
  const asInSource = readEntries(written.get(SERVER_GERMAN) ?? readFileSync(SERVER_GERMAN, 'utf8'))
  expect(asInSource.length).toBeGreaterThan(400)
  expect(faultsOf(asInSource)).toEqual([])
})

const CODES = (Object.keys(ERRORS) as ErrorCode[]).filter(
  code => (ERRORS[code][1].match(/\p{L}{2,}/gu) ?? []).length > 2,
)

test.each(CODES)('the error %s is read in German, with its facts', code => {
  const facts = Object.fromEntries([...ERRORS[code][1].matchAll(MARK)].map(([, name]) => [name, `<${name}>`]))
  const said = new AppError(code, facts as never).message
  const german = pairs.find(([english]) => english === ERRORS[code][1])?.[1] ?? 'none'
  expect(read(said)).toBe(german.replace(MARK, (_, name: string) => `<${name}>`))
  expect(read(said)).not.toBe(said)
})

test.each([
  ['Debian package (.deb): hello 1.0 (amd64).', 'Debian-Paket (.deb): hello 1.0 (amd64).'],
  ['2 known vulnerabilities: 1 high, 1 medium.', '2 bekannte Schwachstellen: 1 HIGH, 1 MEDIUM.'],
  ['hello: 1.0', 'hello: 1.0'],
])('%s is read in its pieces', (said, german) => {
  expect(reader(pairs, word => word.toUpperCase())(said)).toBe(german)
})

test('what a script does is read behind its name, with its line, several in a row, and in a setting', () => {
  const shown = (fact: string): string => read(fact)
  expect([
    shown('postinst runs what it downloads'),
    shown('New: postinst runs what it downloads; b is a device; contacts evil.example.'),
    shown(
      'postinst opens a connection (line 3: curl -d "a; b" x); etc/x is a device. The policy asks for a review before it is served.',
    ),
    shown('Action where a script runs what it downloads.'),
    shown('Make a backup'),
  ]).toEqual([
    'postinst führt aus, was es herunterlädt',
    'New: postinst führt aus, was es herunterlädt; b ist ein Gerät; contacts evil.example.',
    'postinst öffnet eine Verbindung (line 3: curl -d "a; b" x); etc/x ist ein Gerät. Die Richtlinie verlangt eine Prüfung, bevor es ausgeliefert wird.',
    'Maßnahme, wenn von einem Skript gilt: führt aus, was es herunterlädt.',
    'Eine Sicherung erstellen',
  ])
})

test('several sentences are read one by one, those in a fact too, and what is not known stays', () => {
  const some = reader([
    ['There is no package {name}.', 'Es gibt kein Paket {name}.'],
    ['Try again.', 'Versuchen Sie es erneut.'],
    ['It is refused: {why}', 'Es wird abgelehnt: {why}'],
    ['{0}: {1}', 'nie {0} {1}'],
  ])
  expect([
    some('There is no package hello. Try again.'),
    some('It is refused: There is no package hello.'),
    some('The disk: gone. Try again.'),
    some('Nobody said this.'),
    some('hello'),
  ]).toEqual([
    'Es gibt kein Paket hello. Versuchen Sie es erneut.',
    'Es wird abgelehnt: Es gibt kein Paket hello.',
    'The disk: gone. Versuchen Sie es erneut.',
    'Nobody said this.',
    'hello',
  ])
})

test('what a sentence may bring behind its end is there or not', () => {
  const some = reader([['No digest {sum} is named.{more}', 'Keine Prüfsumme {sum} genannt.{more}']])
  expect([some('No digest ab is named.'), some('No digest ab is named. It was kept.')]).toEqual([
    'Keine Prüfsumme ab genannt.',
    'Keine Prüfsumme ab genannt. It was kept.',
  ])
})

test('numbers with a unit have the comma of German; versions keep their point', () => {
  expect(read('It is made within the hour once 1.4 GB are free.')).toBe(
    'Sie wird binnen einer Stunde angelegt, sobald 1,4 GB frei sind.',
  )
  expect(read('Left out: curl 1.4')).toBe('Ausgelassen: curl 1.4')
})

test.each([
  [
    'The service clamd is not well: it is not installed.',
    'Dem Dienst clamd geht es nicht gut: Er ist nicht installiert.',
  ],
  [
    'The service nginx is not well: it failed (exit-code): journalctl -u gatehouse-web.service.',
    'Dem Dienst nginx geht es nicht gut: Er ist fehlgeschlagen (exit-code): journalctl -u gatehouse-web.service.',
  ],
  [
    'The disk of /repos is not well: 92 % full: make room before it is at 95 %.',
    'Mit dem Datenträger von /repos stimmt etwas nicht: 92 % voll: Schaffen Sie Platz, bevor es 95 % sind.',
  ],
  [
    '2 security updates wait. They were not installed: dpkg was interrupted',
    '2 Sicherheitsaktualisierungen warten. Sie wurden nicht installiert: dpkg was interrupted',
  ],
  [
    'It is connected. 2.5 MB wait on disk, and there is room for 500 MB.',
    'Es ist verbunden. 2,5 MB warten auf dem Datenträger, und für 500 MB ist Platz.',
  ],
  [
    'a, b, c, d and 3 more are not as laid: changed, gone, or with other rights.',
    'a, b, c, d und 3 weitere sind nicht, wie sie hingelegt wurden: geändert, verschwunden oder mit anderen Rechten.',
  ],
  [
    '1.1.0 is no good: its daemon ended 3 times: journalctl -u gatehouse says why. The release before runs again. The database was not changed.',
    '1.1.0 taugt nichts: ihr Dienst endete 3 Mal: journalctl -u gatehouse sagt, warum. Die vorherige Version läuft wieder. Die Datenbank wurde nicht geändert.',
  ],
  [
    'The update takes up to 9 MB, and 5 MB are free. Make room, or make the disk larger. Nothing was changed.',
    'Die Aktualisierung braucht bis zu 9 MB, und 5 MB sind frei. Schaffen Sie Platz, oder vergrößern Sie den Datenträger. Nichts wurde geändert.',
  ],
  ['It takes passwords. It asks for passwords.', 'Er nimmt Passwörter. Er fragt nach Passwörtern.'],
  ['does not answer within two seconds', 'antwortet nicht innerhalb von zwei Sekunden'],
  [
    'Only the first 500 files that are of use here were looked at. 1 link is not followed.',
    'Angesehen wurde nur dies: die ersten 500 Dateien, die hier gebraucht werden. 1 Verknüpfung wird nicht verfolgt.',
  ],
])('what the machine says is read in German: %s', (said, german) => {
  expect(read(said)).toBe(german)
})

test.each([
  ...SYNC_STATES.map(state => describeState(state, '17')),
  sayReport('Debian 12', 'disk', { added: 3, pending: 1, blocked: 0, skipped: 0, errors: 0 } as never, {
    gone: 2,
    changed: 1,
  }),
  ...warnOfKeys(
    [
      { label: 'Vendor', name: '17', expiresAt: new Date('2026-12-01') },
      { label: 'Vendor', name: '17', expiresAt: new Date('2026-11-01') },
      { label: 'Vendor', name: '17', expiresAt: new Date('2026-11-01'), acceptedUntil: new Date('2026-12-01') },
    ] as never,
    new Date('2026-11-20'),
  ),
])('of imports, “%s” is read in German as a whole', said => {
  // nothing of the English stays
  expect(read(said)).not.toMatch(/\b(It|Its|the|and|of|is|The|there|another)\b/)
})
