import { malformed } from '../../lib/limited.ts'

/** How a layer came to be, as the builder wrote it down. */
export interface LayerStep {
  /** `run`, `copy`, `add`; `other` for what is none of them. */
  readonly step: 'run' | 'copy' | 'add' | 'other'
  /** Without what every builder puts around it. */
  readonly made_by: string
}

/** What an image's config says of how it was made and how it runs. */
export interface ImageHistory {
  /** The user that it runs as, as its builder wrote it; empty: root. */
  readonly user: string
  /** One for each layer, bottom first; undefined where the config does not say one for each. */
  readonly steps: readonly LayerStep[] | undefined
}

const LONGEST = 400
const MOST_ENTRIES = 2_000

/**
 * `RUN /bin/sh -c apt-get update # buildkit`, `/bin/sh -c #(nop) COPY dir:… in /app`, `/bin/sh -c apt-get update`: the
 * ways in which BuildKit and older builders write the same.
 */
export function readStep(createdBy: string): LayerStep {
  const text = createdBy
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/ ?# buildkit$/, '')
  const nop = /^\/bin\/sh -c #\(nop\) ?(.*)$/.exec(text)?.[1]
  const said = (nop ?? text).trim()
  const [, word = '', rest = ''] = /^(RUN|COPY|ADD) (.*)$/.exec(said) ?? []
  const isShell = nop === undefined && word === '' && /^(?:\|\d+ .*)?\/bin\/sh -c /.test(said)
  const step = word === '' ? (isShell ? 'run' : 'other') : (word.toLowerCase() as 'run' | 'copy' | 'add')
  const plain = word === '' ? said : rest
  const made_by = step === 'run' ? plain.replace(/^(?:\|\d+ .*?)?\/bin\/sh -c /, '') : plain
  return { step, made_by: made_by.trim().slice(0, LONGEST) }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

/**
 * Entries that made no layer are left out. Where the rest is not as many as the layers, which step made which is not
 * known. Source: OCI image specification 1.1, "config", `history` and `empty_layer`.
 * @throws Malformed
 */
export function readHistory(bytes: Buffer, layers: number): ImageHistory {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed('its config is no JSON', error)
  }
  const { config, history } = record(json)
  const { User: user } = record(config)
  const entries = Array.isArray(history) ? history.slice(0, MOST_ENTRIES).map(record) : []
  const made = entries.filter(({ empty_layer: empty }) => empty !== true)
  return {
    user: typeof user === 'string' ? user.slice(0, 200) : '',
    steps:
      made.length === layers && layers > 0
        ? made.map(({ created_by: by, comment }) =>
            readStep(typeof by === 'string' && by !== '' ? by : typeof comment === 'string' ? comment : ''),
          )
        : undefined,
  }
}
