// Package provider is what is known of the providers of models before any is
// asked, and the types of what a person sets of a model.
//
// The configuration, the catalogue, the page, the command line and the import
// rules read it; an adapter of a provider has what it learns by asking. It
// imports nothing of this repository, so that whoever reads settings need not
// know how a model is asked.
package provider
