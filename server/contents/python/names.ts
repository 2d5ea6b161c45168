import type { Found } from '../reader.ts'

/** What a reader knows beside name and version. */
export type About = Pick<Found, 'presence' | 'rule'> & Partial<Pick<Found, 'confidence' | 'needs' | 'unasked' | 'path'>>

/** One row, or none where the name is no name. Source: packaging.python.org, names and normalization */
export function pypiFound(name: string, version: string, about: About): Found[] {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || !/^\S+$/.test(version)) return []
  return [{ type: 'pypi', name, version, confidence: 'certain', ...about }]
}

// what is imported under another name than the project's
const IMPORTED: Readonly<Record<string, readonly string[]>> = {
  'attrs': ['attr'],
  'beautifulsoup4': ['bs4'],
  'gitpython': ['git'],
  'grpcio': ['grpc'],
  'ipython': ['IPython'],
  'opencv-python': ['cv2'],
  'pillow': ['PIL'],
  'protobuf': ['google/protobuf'],
  'pycrypto': ['Crypto'],
  'pycryptodome': ['Crypto'],
  'pycryptodomex': ['Cryptodome'],
  'pyopenssl': ['OpenSSL'],
  'pywin32': ['win32', 'pywintypes'],
  'scikit-image': ['skimage'],
  'scikit-learn': ['sklearn'],
}

/**
 * Where the code of a project is likely to lie below a folder: by its name, in the spellings that projects use for
 * their folders.
 * @param folder  with its `/`
 */
export function codePlaces(folder: string, project: string): string[] {
  const lower = project.toLowerCase()
  const short = lower.replace(/^(?:python[-_.]?|py)|[-_.](?:python|py)$/g, '')
  const stems = [project, lower, short].filter(stem => stem !== '')
  const spelled = stems.flatMap(stem => [stem.replace(/[-.]/g, '_'), stem.replace(/[-.]/g, '/'), stem])
  const names = new Set([...spelled, ...(IMPORTED[lower.replace(/[._]/g, '-')] ?? [])])
  return [...names].flatMap(name => [`${folder}${name}`, `${folder}${name}.py`, `${folder}${name}.so`])
}
