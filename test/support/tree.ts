import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'

/** One stanza of Packages, its fields by name. */
export type Stanza = Readonly<Record<string, string>>

function parseStanzas(text: string): Stanza[] {
  return text
    .split(/\n\n+/)
    .filter(block => block.trim() !== '')
    .map(block =>
      Object.fromEntries(
        [...block.matchAll(/^([A-Za-z0-9-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)].map(([, key = '', value = '']) => [
          key,
          value,
        ]),
      ),
    )
}

/** The clear-signed text of InRelease without its armour. */
function clearText(document: string): string {
  return (
    /-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:[^\r\n]+\r?\n)*\r?\n([^]*?)\n-----BEGIN PGP SIGNATURE-----/
      .exec(document)?.[1]
      ?.replace(/^- /gm, '')
      .replaceAll('\r\n', '\n') ?? ''
  )
}

interface Listed {
  readonly path: string
  readonly size: number
  readonly digest: string
}

function listedFiles(release: string, algorithm: string): Listed[] {
  const block = new RegExp(`^${algorithm}:\\n((?: .*\\n?)+)`, 'm').exec(release)?.[1] ?? ''
  return block
    .trim()
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [digest = '', size = '', path = ''] = line.trim().split(/\s+/)
      return { path, size: Number(size), digest }
    })
}

export interface ServedTree {
  readonly release: string
  /** Of every component, for amd64. */
  readonly packages: readonly Stanza[]
  /** Everything that is wrong with it; empty when it is whole. */
  readonly problems: readonly string[]
}

/**
 * Reads a published APT tree as a client would and proves it: every index that InRelease names is there with its size
 * and digest, under its name and under by-hash, and every package that Packages names is there with its own.
 * @param options.bodies false asks only whether the packages are there and how large
 * @param options.ask  in place of fetch, where that cannot reach it
 */
export async function readServedTree(
  url: string,
  codename: string,
  options: {
    readonly bodies?: boolean
    readonly ask?: (address: string, init: { readonly method: string }) => Promise<Response>
  } = {},
): Promise<ServedTree> {
  const problems: string[] = []
  const { ask = fetch } = options
  const get = async (path: string, method = 'GET'): Promise<Response> => ask(`${url}/repos/${path}`, { method })
  const bytes = async (path: string): Promise<Buffer | undefined> => {
    const response = await get(path)
    const body = Buffer.from(await response.arrayBuffer())
    return response.status === 200 ? body : undefined
  }
  const base = `dists/${codename}`
  const release = clearText((await bytes(`${base}/InRelease`))?.toString() ?? '')
  if (release === '') return { release, packages: [], problems: [`${base}/InRelease is not there`] }

  let packages: Stanza[] | undefined
  for (const [algorithm, hash] of [
    ['SHA256', 'sha256'],
    ['SHA512', 'sha512'],
  ] as const) {
    for (const { path, size, digest } of listedFiles(release, algorithm)) {
      const folder = path.slice(0, path.lastIndexOf('/') + 1)
      for (const name of [path, `${folder}by-hash/${algorithm}/${digest}`]) {
        const body = await bytes(`${base}/${name}`)
        // the plain form is listed so that a client can prove what it unpacked; it need not be there itself
        if (body === undefined && /(?:Packages|Contents-[a-z0-9]+)$/.test(path)) continue
        if (body === undefined) problems.push(`${name} is named and not there`)
        else if (body.length !== size || createHash(hash).update(body).digest('hex') !== digest)
          problems.push(`${name} is not what InRelease says`)
        if (algorithm === 'SHA256' && body !== undefined && path.endsWith('binary-amd64/Packages.gz') && name === path)
          packages = [...(packages ?? []), ...parseStanzas(gunzipSync(body).toString())]
      }
    }
  }
  if (packages === undefined)
    return {
      release,
      packages: [],
      problems: [...problems, `${base}/InRelease names no binary-amd64/Packages.gz that is there`],
    }
  for (const stanza of packages) {
    const path = stanza.Filename ?? ''
    const response = await get(
      path.split('/').map(encodeURIComponent).join('/'),
      options.bodies === false ? 'HEAD' : 'GET',
    )
    const body = Buffer.from(await response.arrayBuffer())
    if (response.status !== 200) problems.push(`${path} is in Packages and answers ${response.status}`)
    else if (Number(response.headers.get('content-length')) !== Number(stanza.Size))
      problems.push(`${path} has another size than Packages says`)
    else if (options.bodies !== false && createHash('sha256').update(body).digest('hex') !== stanza.SHA256)
      problems.push(`${path} has other bytes than Packages says`)
  }
  return { release, packages, problems }
}

/** The names in the text of Packages, sorted. */
export const packageNames = (text: string): string[] =>
  [...text.matchAll(/^Package: (.*)$/gm)].map(([, name = '']) => name).sort()
