import svelte from 'eslint-plugin-svelte'
import tseslint from 'typescript-eslint'
import { packageSql } from './scripts/package-sql.ts'
import { verifiedTls } from './scripts/verified-tls.ts'
import { FORMATS } from './server/formats/index.ts'

const TESTS = ['**/*.test.ts', 'test/**', 'scripts/**', 'appliance/**', 'server/formats/contract-suite.ts']
const FORMAT_IDS = FORMATS.map(format => format.id)

/** A test that `npm run check` runs needs nothing beside its own process. */
const ALONE = [
  {
    group: [
      'node:child_process',
      '**/support/tools.ts',
      '**/support/clamd.ts',
      '**/support/slapd.ts',
      '**/support/dnf.ts',
      '**/support/zypper.ts',
    ],
    message: 'A test that starts a program is named *.tool.test.ts.',
  },
  {
    group: ['**/support/postgres.ts', '**/support/test-catalog.ts', '**/support/uploads.ts'],
    message: 'A test that asks the database is named *.db.test.ts.',
  },
]

/**
 * Code that branches on a format's id belongs into that format's folder, behind the interface of `formats/format.ts`.
 */
const noFormatIds = [
  'error',
  ...FORMAT_IDS.flatMap(id => [
    {
      selector: `BinaryExpression[operator=/^[!=]==?$/] > Literal[value='${id}']`,
      message: `Move what differs for '${id}' into formats/, behind the Format interface (formats/format.ts).`,
    },
    {
      selector: `SwitchCase > Literal[value='${id}']`,
      message: `Move what differs for '${id}' into formats/, behind the Format interface (formats/format.ts).`,
    },
  ]),
]

/**
 * max-lines-per-function for factories: a function that holds functions is as long as its own lines, not as theirs,
 * because a reader reads them one at a time.
 */
const ownLines = {
  meta: {
    type: 'suggestion',
    schema: [{ type: 'integer' }],
    messages: { long: '{{name}} has {{lines}} lines of its own, more than {{max}}. Give a part of it a name.' },
  },
  create(context) {
    const [max] = context.options
    const open = []
    const enter = () => open.push(0)
    const leave = node => {
      const nested = open.pop()
      const lines = node.loc.end.line - node.loc.start.line + 1
      if (open.length > 0) open[open.length - 1] += lines - 1
      if (lines - nested > max)
        context.report({
          node,
          messageId: 'long',
          data: { name: node.id?.name ?? 'This function', lines: lines - nested, max },
        })
    }
    return Object.fromEntries(
      ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].flatMap(type => [
        [type, enter],
        [`${type}:exit`, leave],
      ]),
    )
  },
}
const house = { rules: { 'own-lines': ownLines, 'package-sql': packageSql, 'verified-tls': verifiedTls } }

const rules = {
  '@typescript-eslint/no-floating-promises': [
    'error',
    { allowForKnownSafeCalls: [{ from: 'package', name: ['test', 'describe'], package: 'vitest' }] },
  ],
  '@typescript-eslint/no-misused-promises': [
    'error',
    { checksVoidReturn: { arguments: false, attributes: false, properties: false } },
  ],
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/consistent-type-imports': [
    'error',
    { fixStyle: 'separate-type-imports', disallowTypeAnnotations: false },
  ],
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-unused-vars': [
    'error',
    { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true, caughtErrors: 'none' },
  ],
  'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true, defaultFrom: true } }],
  'max-lines': ['error', { max: 400 }],
  'max-len': [
    'error',
    { code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
  ],
  'prefer-const': 'error',
  'no-var': 'error',
  'eqeqeq': 'error',
  'no-console': 'error',
  'no-control-regex': 'error',
}

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'ui/dist/', 'var/', 'coverage/', '**/*.d.ts'] },
  { linterOptions: { reportUnusedDisableDirectives: 'off' } },
  {
    files: ['server/**/*.ts', 'scripts/**/*.ts', 'test/**/*.ts', 'appliance/**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin, house },
    rules: {
      ...rules,
      'house/own-lines': ['error', 90],
      'house/package-sql': 'error',
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message:
            'The environment is read once, in server/env.ts. Add a row to ENV_TABLE (server/env-table.ts) and take the value as a parameter.',
        },
      ],
      'no-restricted-syntax': noFormatIds,
    },
  },
  { files: ['server/formats/**'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['electron/**/*.ts', 'test/desktop/**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: './electron/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin, house },
    rules: { ...rules, 'house/own-lines': ['error', 90], 'house/verified-tls': 'error' },
  },
  {
    files: ['electron/core/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        { paths: [{ name: 'electron', message: 'The core takes ports: electron/core/ports.ts.' }] },
      ],
    },
  },
  { files: ['electron/pack/**'], rules: { 'no-console': 'off' } },
  // reads who answers before anybody trusts it, and sends nothing
  { files: ['electron/core/chain.ts'], rules: { 'house/verified-tls': 'off' } },
  { files: ['server/catalog/queries/**', 'server/db/migrations/**'], rules: { 'house/package-sql': 'off' } },
  // a suite is one long function; a table of packages is one long file
  {
    files: TESTS,
    rules: {
      'house/own-lines': 'off',
      'house/package-sql': 'off',
      'max-lines': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-syntax': 'off',
      'no-console': 'off',
      'no-control-regex': 'off',
    },
  },
  {
    files: ['server/**/*.test.ts', 'ui/**/*.test.ts', 'scripts/**/*.test.ts', 'electron/**/*.test.ts'],
    ignores: ['**/*.db.test.ts', '**/*.tool.test.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: ALONE }] },
  },
  {
    files: ['server/main.ts', 'server/cli/**', 'server/env.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-console': 'off' },
  },
  { files: ['test/support/postgres-cluster.ts', 'ui/vite.config.ts'], rules: { 'no-restricted-exports': 'off' } },
  ...svelte.configs['flat/recommended'],
  {
    files: ['ui/**/*.ts', 'ui/**/*.svelte'],
    languageOptions: {
      parserOptions: {
        parser: tseslint.parser,
        project: './ui/tsconfig.json',
        tsconfigRootDir: import.meta.dirname,
        extraFileExtensions: ['.svelte'],
      },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    // a plain Set that nothing renders needs no reactive one
    rules: {
      ...rules,
      'svelte/prefer-svelte-reactivity': 'off',
      'svelte/prefer-writable-derived': 'off',
    },
  },
  { files: ['ui/**/*.ts'], languageOptions: { parser: tseslint.parser } },
  // runes: what is assigned once is still a binding that Svelte writes to
  { files: ['ui/**/*.svelte', 'ui/**/*.svelte.ts'], rules: { 'prefer-const': 'off' } },
  { files: ['ui/vite.config.ts'], rules: { 'no-restricted-exports': 'off' } },
)
