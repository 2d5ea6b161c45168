import PO from 'pofile'

/** A text of the source and its German; two forms where it has a plural. */
export interface Entry {
  readonly file: string
  readonly english: readonly string[]
  readonly german: readonly string[]
}

/** The texts of a catalogue as `npm run texts` writes it. */
export function readEntries(catalogue: string): Entry[] {
  return PO.parse(catalogue).items.map(item => ({
    file: item.references[0] ?? '',
    english: item.msgid_plural ? [item.msgid, item.msgid_plural] : [item.msgid],
    german: item.msgstr,
  }))
}

/** `{0}`, `{path}`, `<0>`, `</0>`, `<0/>`, each as often as it comes. */
const marksOf = (text: string): string => (text.match(/\{\w+\}|<\/?\d+\/?>/g) ?? []).toSorted().join(' ')
/** Spaces at the ends belong to the sentence that a text is a part of. */
const endsOf = (text: string): string => `${/^\s*/.exec(text)?.[0]}|${/\s*$/.exec(text)?.[0]}`

/** What is wrong with the German of one text. */
function faultOf({ english, german }: Entry): string | undefined {
  const said = english.at(-1) ?? ''
  if (german.length === 0 || german.some(one => one.trim() === '')) return 'has no German'
  if (german.length !== english.length) return `needs ${english.length} forms, one and many`
  for (const [n, one] of german.entries()) {
    const like = english[n] ?? said
    if (marksOf(one) !== marksOf(like)) return `has ${marksOf(like)}, its German ${marksOf(one) || 'nothing of it'}`
    if (english.length === 1 && endsOf(one) !== endsOf(like)) return 'begins or ends with a space, its German does not'
    if (english.length > 1 && one.split('#').length > 2) return 'has more than one #'
  }
  return undefined
}

/** One line for each text whose German is missing or does not fit. */
export function faultsOf(entries: readonly Entry[]): string[] {
  return entries.flatMap(entry => {
    const fault = faultOf(entry)
    return fault === undefined ? [] : [`${entry.file}: “${entry.english.join(' / ')}” ${fault}.`]
  })
}
