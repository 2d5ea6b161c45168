import { expect, test } from 'vitest'
import { createLookalikes } from './lookalikes.ts'
import { plainKey } from './registry-names.ts'

/** As `looks`: what the second name is taken for when the first one is owned. */
const looks = (owned: string, asked: string): boolean =>
  createLookalikes([{ name: owned, owner: 'ours' }], plainKey)(asked)?.name === owned

// squats that were taken down, beside the names they were made for; and what may be made of a name of a house
test.each([
  ['cross-env', 'crossenv'],
  ['cross-env', 'cross-env.js'],
  ['mongoose', 'mongose'],
  ['electron', 'electorn'],
  ['lodash', 'lodahs'],
  ['lodash', 'lodashs'],
  ['lodash', '1odash'],
  ['express', 'expres'],
  ['babel-cli', 'babelcli'],
  ['jquery', 'jquery.js'],
  ['ffmpeg', 'node-ffmpeg'],
  ['sqlite.js', 'sqlite'],
  ['requests', 'reqeusts'],
  ['requests', 'request'],
  ['requests', 'requesys'],
  ['requests', 'python-requests'],
  ['dateutil', 'python3-dateutil'],
  ['jellyfish', 'jeilyfish'],
  ['colorama', 'colourama'],
  ['tensorflow', 'tenserflow'],
  ['beautifulsoup4', 'beautifulsoup'],
  ['urllib3', 'urllib'],
  ['setuptools', 'setup-tools'],
  ['acquisition', 'acqusition'],
  ['pytorch-lightning', 'pytorch_lightnnig'],
  ['@azure/core-tracing', 'azure-core-tracing'],
  ['ourlib', 'our-lib'],
  ['our-lib', 'our--lib'],
  ['ours-lib', 'ours_lib'],
  ['@ours/lib', 'ours-lib'],
  ['@ours/lib', '@our/lib'],
  ['@ours/lib', '@0urs/lib'],
  ['modern-forms', 'modem-forms'],
  ['ours-payments-api', 'uors-paymetns-api'],
  ['ours-utils', 'ours-utils-js'],
  ['oursutils', 'oursutilsjs'],
  ['com.ours:billing', 'com.our:billing'],
  ['hello', 'helo'],
  ['react', 'reat'],
  ['tqdm', 'tdqm'],
  ['ours', 'oours'],
  ['core-http', 'core-htttp'],
  ['ours-lib', 'ours-libs'],
  ['@ours/*', '@our5/anything'],
  ['@ours/*', 'ours-anything'],
  ['@acmecorp/*', '@acmecorps/anything'],
  ['acmecorp-*', 'acmecrop-anything'],
  ['com.acmecorp.*', 'com.acmecrop:lib'],
])('for the owner of %s, %s looks like it', (owned, asked) => {
  expect(looks(owned, asked)).toBe(true)
})

test.each([
  ['react', 'react'],
  ['React', 'react'],
  ['react', 'preact'],
  ['color', 'dolor'],
  ['lib', 'libs'],
  ['vue', 'vuex'],
  ['koa', 'k0a'],
  ['boto', 'boto3'],
  ['ours-v1', 'ours-v2'],
  ['sha256-tools', 'sha512-tools'],
  ['lodash', 'underscore'],
  ['express', 'express-session'],
  ['@ours/logger', 'logger'],
  ['@ours/lib', '@acme/lib'],
  ['@ours/*', '@ours/lib'],
  ['@ours/*', 'ours'],
  ['@ours/*', '@hours/lib'],
  ['ours-*', 'ours-lib'],
  ['com.ours.*', 'com.ours:lib'],
  ['com.ours.*', 'com.google:lib'],
  ['node-lib', 'node'],
  ['python-cli', 'node-cli'],
  ['ours-lib', 'ours-cli'],
  ['webpack', 'webpack-dev-server'],
  ['chalk', 'cache'],
  // of popular names, which are no squats of one another
  ['http-proxy', 'html-proxy'],
  ['aws-sdk', 'aws-cdk'],
  ['@types/ms', '@types/ws'],
  ['mypy-boto3-sqs', 'mypy-boto3-rds'],
  ['azure-mgmt-media', 'azure-mgmt-redis'],
  ['cjs-module-lexer', 'es-module-lexer'],
  ['react', 'reac'],
  ['react', 'eact'],
  ['glob', 'grob'],
  ['koa', 'kao'],
])('for the owner of %s, %s does not', (owned, asked) => {
  expect(looks(owned, asked)).toBe(false)
})

test('who owns it is said, and of several names the one that is read the same comes first', () => {
  const find = createLookalikes(
    [
      { name: 'ours-lab', owner: 'a' },
      { name: 'ours-lib', owner: 'b' },
    ],
    plainKey,
  )
  expect(find('ourslib')).toEqual({ name: 'ours-lib', owner: 'b' })
  expect(find('ours-lab')).toBeUndefined()
})

test('a hundred thousand names are compared with a thousand, each with few of them', () => {
  const parts = ['data', 'core', 'user', 'auth', 'form', 'grid', 'http', 'mail', 'page', 'test', 'view', 'work', 'sync']
  const word = (n: number): string =>
    `${parts[n % 13] ?? ''}-${parts[(n * 7 + 3) % 13] ?? ''}${((n * 2_654_435_761) >>> 0).toString(36)}`
  const owned = Array.from({ length: 1_000 }, (_, n) => ({ name: `ours-${word(n)}`, owner: 'ours' }))
  const find = createLookalikes(owned, plainKey)
  const asked = Array.from({ length: 100_000 }, (_, n) => word(n + 5_000))
  const squats = owned.slice(0, 50).map(({ name }) => `${name}s`)
  expect([...asked, ...squats].filter(name => find(name) !== undefined)).toEqual(squats)
})
